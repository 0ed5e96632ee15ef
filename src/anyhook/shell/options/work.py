"""Options of Git, package managers, services and programs that run other programs.

The format is described in `anyhook.shell.options`.
"""

from __future__ import annotations

_DIFF = (
    " p|u|patch s|no-patch U|unified= output= raw patch-with-raw stat? numstat shortstat summary"
    " name-only name-status color? no-color word-diff? G= S= O= R a|text w|ignore-all-space"
    " b|ignore-space-change W|function-context ext-diff no-ext-diff textconv no-textconv"
    " M|find-renames? C|find-copies? D|irreversible-delete? l= relative? exit-code quiet z"
    " diff-filter= inter-hunk-context= src-prefix= dst-prefix= no-prefix B|break-rewrites? check"
    " full-index binary abbrev? minimal patience histogram diff-algorithm= dirstat? pickaxe-all"
    " pickaxe-regex submodule? ita-invisible-in-index cached staged merge-base no-index 1|base"
    " 2|ours 3|theirs 0 c cc m t r"
)
_LOG = (
    " n|max-count= skip= since= after= until= before= author= committer= grep="
    " i|regexp-ignore-case E|extended-regexp F|fixed-strings P|perl-regexp oneline graph all"
    " branches? tags? remotes? glob= exclude= first-parent merges no-merges reverse format="
    " pretty? decorate? no-decorate date= follow L= g|walk-reflogs abbrev-commit"
    " no-abbrev-commit show-signature left-right cherry-pick cherry-mark cherry ancestry-path"
    " simplify-by-decoration full-history topo-order date-order source mailmap notes? no-notes"
    " invert-grep all-match parents children boundary count"
)

TABLES = {
    "git": (
        "%stop %exact C= c= exec-path? html-path man-path info-path p|paginate P|no-pager"
        " no-replace-objects bare git-dir= work-tree= namespace= super-prefix= config-env="
        " literal-pathspecs glob-pathspecs noglob-pathspecs icase-pathspecs no-optional-locks"
        " list-cmds= attr-source= version help"
    ),
    "git push": (
        "v|verbose q|quiet repo= all branches mirror d|delete tags n|dry-run porcelain f|force"
        " force-with-lease? force-if-includes recurse-submodules= thin no-thin receive-pack="
        " exec= u|set-upstream progress prune no-verify follow-tags signed? atomic"
        " o|push-option= 4|ipv4 6|ipv6"
    ),
    "git status": "s|short b|branch show-stash porcelain? long v|verbose u|untracked-files?"
    " ignore-submodules? ignored? z column? no-column ahead-behind no-ahead-behind renames"
    " no-renames find-renames?",
    "git reset": "q|quiet no-refresh refresh mixed N|intent-to-add soft hard merge keep"
    " recurse-submodules? p|patch pathspec-from-file= pathspec-file-nul",
    "git clean": "q|quiet n|dry-run f|force i|interactive d e|exclude= x X",
    "git checkout": (
        "q|quiet progress f|force ours theirs b= B= t|track? no-track guess no-guess l d|detach"
        " orphan= ignore-skip-worktree-bits m|merge conflict= p|patch ignore-other-worktrees"
        " overwrite-ignore recurse-submodules? overlay no-overlay pathspec-from-file="
        " pathspec-file-nul"
    ),
    "git restore": (
        "s|source= p|patch W|worktree S|staged q|quiet progress ours theirs m|merge conflict="
        " ignore-unmerged ignore-skip-worktree-bits recurse-submodules? overlay no-overlay"
        " pathspec-from-file= pathspec-file-nul"
    ),
    "git checkout-index": "f|force a|all q|quiet n|no-create u|index prefix= stage= temp z stdin",
    "git read-tree": "m reset prefix= u i n|dry-run v trivial aggressive index-output= empty"
    " q|quiet recurse-submodules? no-sparse-checkout debug-unpack",
    "git switch": (
        "c|create= C|force-create= d|detach guess no-guess f|force discard-changes m|merge"
        " conflict= q|quiet progress t|track? no-track orphan= ignore-other-worktrees"
        " recurse-submodules?"
    ),
    "git branch": (
        "v|verbose q|quiet t|track? u|set-upstream-to= unset-upstream color? no-color r|remotes"
        " contains? no-contains? abbrev? a|all d|delete D m|move M c|copy C l|list show-current"
        " create-reflog edit-description f|force merged? no-merged? column? sort= points-at="
        " i|ignore-case format="
    ),
    "git tag": (
        "l|list n? d|delete v|verify a|annotate m|message= F|file= trailer= e|edit s|sign"
        " cleanup= u|local-user= f|force create-reflog column? contains? no-contains? merged?"
        " no-merged? sort= points-at= format= color? i|ignore-case"
    ),
    "git commit": (
        "q|quiet v|verbose F|file= author= date= m|message= c|reedit-message= C|reuse-message="
        " fixup= squash= reset-author trailer= s|signoff t|template= e|edit no-edit cleanup="
        " status no-status S|gpg-sign? no-gpg-sign a|all i|include interactive p|patch o|only"
        " n|no-verify dry-run short branch ahead-behind porcelain long z|null amend"
        " no-post-rewrite u|untracked-files? pathspec-from-file= pathspec-file-nul allow-empty"
        " allow-empty-message no-signoff"
    ),
    "git add": (
        "n|dry-run v|verbose i|interactive p|patch e|edit f|force u|update renormalize"
        " N|intent-to-add A|all no-all ignore-removal refresh ignore-errors ignore-missing"
        " sparse chmod= pathspec-from-file= pathspec-file-nul"
    ),
    "git rm": (
        "n|dry-run q|quiet cached f|force r ignore-unmatch sparse pathspec-from-file="
        " pathspec-file-nul"
    ),
    "git mv": "v|verbose n|dry-run f|force k sparse",
    "git stash": (
        "p|patch k|keep-index no-keep-index q|quiet u|include-untracked a|all m|message="
        " S|staged index only-untracked pathspec-from-file= pathspec-file-nul"
    ),
    "git rebase": (
        "onto= keep-base no-verify q|quiet v|verbose n|no-stat signoff"
        " committer-date-is-author-date reset-author-date C= ignore-whitespace whitespace="
        " f|force-rebase no-ff continue skip abort quit edit-todo show-current-patch apply"
        " m|merge i|interactive rerere-autoupdate empty= autosquash update-refs S|gpg-sign?"
        " autostash no-autostash x|exec= r|rebase-merges? fork-point s|strategy="
        " X|strategy-option= root reschedule-failed-exec stat"
    ),
    "git merge": (
        "n stat summary log? squash commit no-commit e|edit no-edit cleanup= ff no-ff ff-only"
        " rerere-autoupdate verify-signatures s|strategy= X|strategy-option= m|message= F|file="
        " into-name= v|verbose q|quiet abort quit continue allow-unrelated-histories progress"
        " S|gpg-sign? autostash overwrite-ignore signoff no-verify"
    ),
    "git cherry-pick": (
        "quit continue abort skip cleanup= n|no-commit e|edit s|signoff m|mainline="
        " rerere-autoupdate strategy= X|strategy-option= S|gpg-sign? x ff allow-empty"
        " allow-empty-message keep-redundant-commits r"
    ),
    "git revert": (
        "quit continue abort skip cleanup= n|no-commit e|edit no-edit r s|signoff m|mainline="
        " rerere-autoupdate strategy= X|strategy-option= S|gpg-sign? reference"
    ),
    "git fetch": (
        "v|verbose q|quiet all set-upstream a|append atomic upload-pack= f|force m|multiple"
        " t|tags n no-tags j|jobs= prefetch p|prune P|prune-tags recurse-submodules? dry-run"
        " porcelain write-fetch-head k|keep u|update-head-ok progress depth= shallow-since="
        " shallow-exclude= deepen= unshallow refetch update-shallow refmap= o|server-option="
        " 4|ipv4 6|ipv6 negotiation-tip= filter= auto-maintenance"
    ),
    "git pull": (
        "v|verbose q|quiet progress recurse-submodules? r|rebase? no-rebase n stat log? signoff"
        " squash commit edit cleanup= ff no-ff ff-only verify verify-signatures autostash"
        " no-autostash s|strategy= X|strategy-option= S|gpg-sign? allow-unrelated-histories all"
        " a|append upload-pack= f|force t|tags p|prune j|jobs? dry-run k|keep depth="
        " shallow-since= unshallow update-shallow refmap= o|server-option= 4|ipv4 6|ipv6"
        " set-upstream no-commit no-edit"
    ),
    "git clone": (
        "v|verbose q|quiet progress reject-shallow n|no-checkout bare mirror l|local"
        " no-hardlinks s|shared recurse-submodules? recursive? j|jobs= template= reference="
        " reference-if-able= dissociate o|origin= b|branch= u|upload-pack= depth= shallow-since="
        " shallow-exclude= single-branch no-single-branch no-tags shallow-submodules"
        " separate-git-dir= c|config= server-option= 4|ipv4 6|ipv6 filter="
        " also-filter-submodules remote-submodules sparse bundle-uri= revision="
    ),
    "git config": (
        "global system local worktree f|file= blob= get get-all get-regexp get-urlmatch"
        " replace-all add unset unset-all rename-section remove-section l|list fixed-value"
        " e|edit get-color get-colorbool t|type= bool int bool-or-int bool-or-str path"
        " expiry-date z|null name-only includes show-origin show-scope default= value= regexp"
        " all url= no-type comment= show-names"
    ),
    "git worktree": (
        "f|force b= B= detach checkout no-checkout lock reason= q|quiet track porcelain v"
        " n expire= orphan z"
    ),
    "git submodule": (
        "%stop q|quiet cached init remote N|no-fetch f|force recursive b|branch= name="
        " reference= depth= all checkout merge rebase j|jobs= single-branch"
    ),
    "git submodule deinit": "q|quiet f|force all",
    "git remote": (
        "%stop v|verbose t= m= f tags no-tags mirror? push all add delete d|delete a|auto n prune"
    ),
    "git reflog": (f"expire= expire-unreachable= all updateref rewrite dry-run n stale-fix{_LOG}"),
    "git gc": "q|quiet prune? aggressive auto force keep-largest-pack cruft max-cruft-size=",
    "git filter-branch": (
        "f|force d= setup= subdirectory-filter= env-filter= tree-filter= index-filter="
        " parent-filter= msg-filter= commit-filter= tag-name-filter= prune-empty original="
        " state-branch="
    ),
    "git archive": (
        "format= prefix= o|output= remote= exec= v|verbose l|list add-file= worktree-attributes"
    ),
    "git apply": (
        "exclude= include= stat numstat summary check index cached intent-to-add 3|3way"
        " R|reverse z p= C= reject a|allow-binary-replacement unidiff-zero apply no-add"
        " ignore-space-change ignore-whitespace whitespace= inaccurate-eof v|verbose q|quiet"
        " recount directory= unsafe-paths allow-empty N"
    ),
    "git bisect": "%stop term-new= term-bad= term-good= term-old= no-checkout first-parent",
    "git diff": f"{_DIFF}",
    "git difftool": "x|extcmd= t|tool= g|gui no-gui d|dir-diff symlinks y|no-prompt prompt",
    "git show": f"{_DIFF}{_LOG}",
    "git log": f"{_DIFF}{_LOG}",
    "git grep": (
        "cached no-index untracked recurse-submodules a|text textconv i|ignore-case I max-depth="
        " r|recursive w|word-regexp v|invert-match h H full-name E|extended-regexp"
        " G|basic-regexp P|perl-regexp F|fixed-strings n|line-number column l|files-with-matches"
        " L|files-without-match O|open-files-in-pager? z|null o|only-matching c|count color?"
        " break heading p|show-function B|before-context= A|after-context= C|context="
        " W|function-context m|max-count= threads= f= e= and or not all-match q|quiet"
    ),
    "gh": (
        "%exact R|repo= b|body= F|body-file= t|title= B|base= H|head= l|label= a|assignee="
        " r|reviewer= m|milestone= d|draft f|field= raw-field= H|header= X|method= q|jq= json="
        " template= L|limit= s|state= w|web y|yes admin squash merge rebase auto delete-branch"
        " paginate input= hostname= visibility= c|comment="
    ),
    "npm": (
        "w|workspace= g|global D|save-dev P|save-prod O|save-optional E|save-exact S|save"
        " B|save-bundle f|force prefix= registry= tag= access= otp= loglevel= cache= userconfig="
        " omit= include= s|silent y|yes dry-run production ignore-scripts no-audit no-fund"
        " legacy-peer-deps workspaces if-present scope= C= l|long p|parseable json"
        " package-lock-only depth= no-save provenance c|call= package="
    ),
    "npm exec": "%stop p|package= c|call= w|workspace= y|yes n|no q|quiet workspaces if-present",
    "yarn": (
        "%exact cwd= g D|dev P|peer O|optional E|exact T|tilde W|ignore-workspace-root-check"
        " force frozen-lockfile ignore-scripts production? registry= mutex= cache-folder= silent"
        " s|silent"
    ),
    "pnpm": (
        "%exact C|dir= w|workspace-root r|recursive F|filter= D|save-dev P|save-prod"
        " O|save-optional E|save-exact g|global force frozen-lockfile ignore-scripts registry="
        " tag= reporter= c|shell-mode s|silent"
    ),
    "pip": (
        "r|requirement= c|constraint= no-deps pre e|editable= t|target= platform="
        " python-version= implementation= abi= user root= prefix= src= U|upgrade"
        " upgrade-strategy= force-reinstall I|ignore-installed no-build-isolation"
        " break-system-packages i|pypi-url|index-url= extra-index-url= no-index f|find-links="
        " no-binary= only-binary= prefer-binary no-clean hash require-hashes y|yes q|quiet"
        " v|verbose log= proxy= retries= timeout= exists-action= trusted-host= cert="
        " client-cert= cache-dir= no-cache-dir disable-pip-version-check no-color python="
        " isolated d|dest= w|wheel-dir= format= config-settings= C= dry-run report= compile"
        " no-compile root-user-action= progress-bar= l|local o|outdated u|uptodate path="
        " exclude= not-required no-input require-virtualenv debug"
    ),
    "cargo": (
        "%exact p|package= features= F= all-features no-default-features release profile="
        " j|jobs= target= target-dir= manifest-path= bin= example= test= bench= q|quiet"
        " v|verbose color= locked offline frozen config= Z= C= git= branch= tag= rev= path="
        " root= registry= index= token= version= vers= force f|force dry-run allow-dirty"
        " no-verify workspace all exclude= lib bins no-run no-fail-fast message-format= D|debug"
    ),
    "apt-get": (
        "%exact y|yes|assume-yes q|quiet? s|simulate|just-print|dry-run d|download-only"
        " f|fix-broken m|fix-missing b|build u o|option= c|config-file= t|target-release= purge"
        " reinstall no-install-recommends allow-downgrades allow-remove-essential"
        " allow-unauthenticated auto-remove only-upgrade no-upgrade"
    ),
    "brew": "%exact f|force cask formula zap q|quiet v|verbose n|dry-run HEAD",
    "systemctl": (
        "%exact H|host= M|machine= t|type= state= p|property= P= a|all l|full r|recursive"
        " reverse after before show-types job-mode= i ignore-inhibitors s|signal="
        " kill-whom|kill-who= now f|force no-wall no-reload no-block wait n|lines= o|output="
        " root= image= runtime preset-mode= q|quiet no-legend no-pager no-ask-password user"
        " system global failed what= value message= when= plain dry-run timestamp="
    ),
    "sudo": (
        "%stop %exact A|askpass B|bell b|background C|close-from= D|chdir= E preserve-env?"
        " e|edit g|group= H|set-home h|host= help i|login K|remove-timestamp k|reset-timestamp"
        " l|list N|no-update n|non-interactive P|preserve-groups p|prompt= R|chroot= r|role="
        " S|stdin s|shell T|command-timeout= t|type= U|other-user= u|user= V|version v|validate"
    ),
    "doas": "%stop %exact a= C= L n s u=",
    "su": (
        "%exact c|command= session-command= f|fast g|group= G|supp-group= l|login"
        " m|p|preserve-environment P|pty s|shell= w|whitelist-environment= h V"
    ),
    "runuser": (
        "%exact c|command= session-command= f|fast g|group= G|supp-group= l|login"
        " m|p|preserve-environment P|pty s|shell= u|user= w|whitelist-environment="
    ),
    "env": (
        "%stop i|ignore-environment 0|null u|unset= C|chdir= S|split-string= v|debug"
        " block-signal? default-signal? ignore-signal? list-signal-handling argv0= a= P="
    ),
    "timeout": "%stop f|foreground k|kill-after= p|preserve-status s|signal= v|verbose",
    "nice": "%stop n|adjustment=",
    "nohup": "%stop",
    "setsid": "%stop c|ctty f|fork w|wait",
    "stdbuf": "%stop i|input= o|output= e|error=",
    "time": "%stop f|format= o|output= a|append p|portability q|quiet v|verbose l h",
    "ionice": "%stop c|class= n|classdata= p|pid= P|pgid= t|ignore u|uid=",
    "chrt": "%stop %exact a|all-tasks b|batch d|deadline f|fifo i|idle o|other r|rr R|reset-on-fork"
    " T|sched-runtime= P|sched-period= D|sched-deadline= m|max p|pid= v|verbose",
    "taskset": "%stop a|all-tasks c|cpu-list p|pid",
    "flock": (
        "%stop c|command= s|shared x|e|exclusive n|nb|nonblock w|wait|timeout="
        " E|conflict-exit-code= o|close u|unlock F|no-fork verbose"
    ),
    "chroot": "%stop groups= userspec= skip-chdir u= g= G=",
    "exec": "%stop %exact c l a=",
    "command": "%stop %exact p v V",
    "builtin": "%stop %exact",
    "noglob": "%stop %exact",
    "nocorrect": "%stop %exact",
    "caffeinate": "%stop %exact d i m s u t= w=",
    "strace": (
        "%stop %exact a= b= c C d D e|trace= E|env= f|follow-forks F h i I= k n o|output= O="
        " p|attach= P= q r s|string-limit= S= t T u|user= U= v V w x X= y z Z A"
    ),
    "ltrace": (
        "%stop a|align= A= c C|demangle d D= e= f F= h i l= L n|indent= o|output= p= r s= S t T"
        " u= V w= x="
    ),
    "fakeroot": "%stop l|lib= s= i= b= f|faked= u|unknown-is-real",
    "gosu": "%stop %exact",
    "su-exec": "%stop %exact",
    "pkexec": "%stop %exact u|user= disable-internal-agent keep-cwd",
    "busybox": "%stop list install s",
    "toybox": "%stop",
    "proxychains": "%stop %exact q f=",
    "torsocks": "%stop %exact i|isolate u|user= p|pass= a|address= P|port= d|debug q|quiet",
    "unbuffer": "%stop %exact p",
    "valgrind": "%stop %exact q v",
    "watch": (
        "%stop b|beep c|color C d|differences? e|errexit g|chgexit n|interval= p|precise"
        " q|equexit= r|no-rerun t|no-title w|no-wrap x|exec"
    ),
    "winpty": "%stop %exact",
    "xvfb-run": (
        "%stop a|auto-servernum e|error-file= f|auth-file= n|server-num= l|listen-tcp"
        " p|xauth-protocol= s|server-args= w|wait= d|auto-display"
    ),
    "dbus-run-session": "%stop %exact config-file= dbus-daemon=",
    "systemd-run": (
        "%stop no-ask-password scope u|unit= p|property= description= slice= slice-inherit"
        " r|remain-after-exit send-sighup service-type= uid= gid= nice= working-directory="
        " d|same-dir E|setenv= t|pty P|pipe q|quiet on-active= on-boot= on-startup="
        " on-unit-active= on-calendar= timer-property= no-block wait G|collect S|shell user"
        " system H|host= M|machine= path-property= socket-property= expand-environment="
    ),
    "run0": (
        "%stop no-ask-password machine= unit= property= description= slice= slice-inherit u|user="
        " g|group= nice= D|chdir= setenv= background= pty pty-late pipe shell-prompt-prefix="
        " i|via-shell lightweight? a|area= empower same-root-dir job-mode="
    ),
    "tmux": "%stop %exact 2 8 C D l N u v V c|shell-command= f= L= S= T=",
    "tmux new-session": ("%stop %exact A d D E P X c|start-directory= e= f= F= n= s= t= x= y="),
    "tmux run-shell": "%stop %exact b C c|start-directory= d= t=",
    "tmux display-popup": "%stop %exact B C E k N b= c= d= e= h= s= S= t= T= w= x= y=",
    "tmux *": "%stop %exact a b d f F h H I k K M O o P R v Z c|start-directory= e= l= n= N= p= t=",
    "tmux send-keys": "%stop %exact F H K l M R X c= N= t=",
    "screen": (
        "%stop %exact 4 6 a A d D f -fa -fn i l -ln L -list -ls m n O q Q r R U v -wipe x X c= e="
        " h= -Logfile= p= s= S= t= T="
    ),
    "firejail": "%stop %exact q|quiet",
    "bwrap": "%stop %exact",
    "unshare": (
        "%stop i|ipc? m|mount? n|net? p|pid? u|uts? U|user? C|cgroup? T|time? f|fork mount-proc?"
        " map-user= map-group= r|map-root-user c|map-current-user propagation= setgroups="
        " R|root= w|wd= S|setuid= G|setgid= kill-child? keep-caps map-auto map-users="
        " map-groups="
    ),
    "nsenter": (
        "%stop a|all t|target= m|mount? u|uts? i|ipc? n|net? N|net-socket= p|pid? C|cgroup?"
        " U|user? T|time? S|setuid= G|setgid= r|root? w|wd? e|env F|no-fork preserve-credentials"
        " keep-caps"
    ),
    "setpriv": (
        "%stop clear-groups groups= inh-caps= ambient-caps= bounding-set= keep-groups"
        " init-groups list-caps no-new-privs rgid= regid= ruid= reuid= egid= euid= securebits="
        " pdeathsig= selinux-label= apparmor-profile= reset-env d|dump"
    ),
    "setarch": "%stop %exact",  # with options, it may have no architecture
    **dict.fromkeys(("linux32", "linux64"), "%stop %exact R|addr-no-randomize 3|3gb"),
    "numactl": "%stop C|physcpubind= N|cpunodebind= m|membind= i|interleave= p|preferred=",
    "openvt": "%stop c|console= s|switch w|wait f|force l|login u|user e|exec v|verbose",
    "systemd-inhibit": "%stop what= who= why= mode=",
    "script": (
        "%exact a|append c|command= e|return f|flush force E|echo= h I|log-in= O|log-out="
        " B|log-io= T|log-timing= m|logging-format= o|output-limit= q|quiet t? V"
    ),
    "parallel": (
        "%stop %exact j|jobs= N|max-replace-args= n|max-args= L= I= U= i|replace? a|arg-file="
        " C|colsep= X m k|keep-order q|quote 0|null eta bar progress halt= joblog= results="
        " S|sshlogin= sshloginfile= tmpdir= timeout= retries= delay= u|ungroup line-buffer verbose"
        " v dry-run pipe block= recstart= recend= tag wd|workdir= will-cite resume load="
    ),
    "entr": "%stop %exact a c d n p r s x z",
    "npx": (
        "%stop %exact p|package= c|call= y|yes n|no q|quiet w|workspace= ignore-existing"
        " no-install prefer-offline cache= userconfig= node-arg= shell= registry="
    ),
    "uvx": (
        "%stop %exact from= with= with-editable= with-requirements= p|python= index="
        " default-index= i|index-url= extra-index-url= f|find-links= refresh refresh-package="
        " U|upgrade P|upgrade-package= n|no-cache offline q|quiet v|verbose isolated env-file="
        " constraint= c|constraints= cache-dir= directory= project= config-file= no-config"
        " color= native-tls no-progress prerelease= resolution= allow-insecure-host= no-env-file"
        " torch-backend= w="
    ),
    "uv": (
        "%stop %exact q|quiet v|verbose color= native-tls offline no-progress directory="
        " project= config-file= no-config n|no-cache cache-dir= allow-insecure-host="
        " no-python-downloads no-managed-python managed-python"
    ),
    "uv run": (
        "%stop %exact extra= all-extras no-extra= no-dev dev group= no-group= no-default-groups"
        " only-group= all-groups m|module? only-dev no-editable inexact exact env-file="
        " no-env-file with= with-editable= with-requirements= isolated active no-sync locked"
        " frozen s|script gui-script all-packages package= no-project index= default-index="
        " i|index-url= extra-index-url= f|find-links= no-index U|upgrade P|upgrade-package="
        " reinstall reinstall-package= p|python= refresh refresh-package= directory= project="
        " n|no-cache offline q|quiet v|verbose prerelease= resolution= w="
    ),
    "pipx": "%stop %exact q|quiet v|verbose",
    "pipx run": (
        "%stop %exact no-cache path pypackages spec= python= system-site-packages i|index-url="
        " e|editable pip-args= q|quiet v|verbose with="
    ),
    "poetry": (
        "%stop %exact q|quiet n|no-interaction v vv vvv C|directory= P|project= no-plugins"
        " no-cache ansi no-ansi"
    ),
    "conda": "%stop %exact n|name= p|prefix= no-capture-output live-stream v|verbose cwd= dev",
    "make": (
        "B|always-make C|directory= d debug? e|environment-overrides E|eval= f|makefile|file="
        " i|ignore-errors I|include-dir= j|jobs? k|keep-going l|load-average? L"
        " n|just-print|recon|dry-run o|old-file|assume-old= O|output-sync? p|print-data-base"
        " q|question r|no-builtin-rules R|no-builtin-variables s|silent|quiet S|stop t|touch"
        " trace v|version w|print-directory no-print-directory W|what-if|new-file|assume-new="
        " shuffle?"
    ),
    "sh": (
        "%stop c s o= O= i l r x v e u n m a b f h k p t B C E H P T D norc noprofile"
        " posix login verbose restricted rcfile= init-file= debugger dump-strings noediting"
    ),
    "mapfile": "%exact C= c= d= n= O= s= t u=",
    "hash": "%exact d l p= r t",
    "run-parts": "test list regex= a|arg= u|umask= report reverse exit-on-error v|verbose",
    "trap": "%stop %exact l p",
}
ALIASES = {
    "pip3": "pip",
    "uv pip": "pip",
    "proxychains4": "proxychains",
    "apt": "apt-get",
    "gtimeout": "timeout",
    "gtime": "time",
    "genv": "env",
    "mamba": "conda",
    "micromamba": "conda",
    "bunx": "npx",
    "pnpx": "npx",
    "pnpm dlx": "npx",
    "pnpm exec": "npx",
    "yarn dlx": "npx",
    "yarn exec": "npx",
    "npm x": "npm exec",
    "uv tool run": "uvx",
    "rye run": "uv run",
    "gmake": "make",
    "readarray": "mapfile",
    **dict.fromkeys(("bash", "dash", "ash", "zsh", "ksh", "rbash", "mksh", "hush", "yash"), "sh"),
}
