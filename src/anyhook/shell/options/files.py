"""Options of programs that work on files. The format is described in `anyhook.shell.options`."""

from __future__ import annotations

TABLES = {
    "rm": "f|force i I interactive? r|R|recursive d|dir v|verbose one-file-system"
    " no-preserve-root preserve-root? help version x W P",
    "rmdir": "p|parents v|verbose ignore-fail-on-non-empty",
    "unlink": "help version",
    "shred": "f|force n|iterations= s|size= u remove? v|verbose x|exact z|zero random-source=",
    "cp": "a|archive b backup? copy-contents d f|force i|interactive H l|link L|dereference"
    " n|no-clobber P|no-dereference p preserve? no-preserve= parents R|r|recursive reflink?"
    " remove-destination sparse= strip-trailing-slashes s|symbolic-link S|suffix="
    " t|target-directory= T|no-target-directory u|update v|verbose x|one-file-system Z context?"
    " attributes-only debug keep-directory-symlink",
    "mv": "b backup? f|force i|interactive n|no-clobber strip-trailing-slashes S|suffix="
    " t|target-directory= T|no-target-directory u|update v|verbose Z|context debug exchange"
    " no-copy",
    "ln": "b backup? d|F|directory f|force i|interactive L|logical n|no-dereference P|physical"
    " r|relative s|symbolic S|suffix= t|target-directory= T|no-target-directory v|verbose h w",
    "install": "b backup? c C|compare d|directory D debug g|group= m|mode= o|owner="
    " p|preserve-timestamps s|strip strip-program= S|suffix= t|target-directory="
    " T|no-target-directory v|verbose preserve-context Z context?",
    "mkdir": "m|mode= p|parents v|verbose Z context?",
    "touch": "a c|no-create d|date= f h|no-dereference m r|reference= t= time=",
    "chmod": "%mode c|changes f|silent|quiet v|verbose no-preserve-root preserve-root reference="
    " R|recursive h H L P dereference no-dereference",
    "chown": "c|changes f|silent|quiet v|verbose dereference h|no-dereference from="
    " no-preserve-root preserve-root reference= R|recursive H L P",
    "chgrp": "c|changes f|silent|quiet v|verbose dereference h|no-dereference from="
    " no-preserve-root preserve-root reference= R|recursive H L P",
    "truncate": "c|no-create o|io-blocks r|reference= s|size=",
    "tee": "a|append i|ignore-interrupts p output-error?",
    "cat": "A|show-all b|number-nonblank e E|show-ends n|number s|squeeze-blank t T|show-tabs u"
    " v|show-nonprinting",
    "head": "c|bytes= n|lines= q|quiet|silent v|verbose z|zero-terminated",
    "tail": "c|bytes= F f|follow~ n|lines= max-unchanged-stats= pid= q|quiet|silent retry"
    " s|sleep-interval= v|verbose z|zero-terminated r",
    "sed": "n|silent|quiet debug e|expression= f|file= E|r|regexp-extended follow-symlinks"
    " i|in-place? l|line-length= z|null-data posix s|separate sandbox u|unbuffered",
    "grep": "E|extended-regexp F|fixed-strings G|basic-regexp P|perl-regexp e|regexp= f|file="
    " i|y|ignore-case no-ignore-case v|invert-match w|word-regexp x|line-regexp c|count"
    " color? colour? L|files-without-match l|files-with-matches m|max-count= o|only-matching"
    " q|quiet|silent s|no-messages b|byte-offset H|with-filename h|no-filename label="
    " n|line-number T|initial-tab Z|null A|after-context= B|before-context= C|context="
    " a|text binary-files= D|devices= d|directories= exclude= exclude-from= exclude-dir="
    " include= r|recursive R|dereference-recursive line-buffered U|binary z|null-data V|version",
    "rg": (
        "%exact e|regexp= f|file= A|after-context= B|before-context= C|context= color= colors="
        " g|glob= iglob= m|max-count= d|max-depth= M|max-columns= t|type= T|type-not= type-add="
        " type-clear= j|threads= E|encoding= r|replace= pre= pre-glob= sort= sortr= engine="
        " ignore-file= max-filesize= context-separator= path-separator= s|case-sensitive"
        " S|smart-case i|ignore-case F|fixed-strings w|word-regexp x|line-regexp v|invert-match"
        " c|count l|files-with-matches files-without-match files hidden n|line-number"
        " N|no-line-number H|with-filename I|no-filename o|only-matching q|quiet u|unrestricted"
        " L|follow a|text z|search-zip U|multiline P|pcre2 p|pretty json stats no-ignore"
        " no-heading heading trim vimgrep V|version 0|null b|byte-offset passthru no-messages"
        " column"
    ),
    "sort": "b|ignore-leading-blanks d|dictionary-order f|ignore-case g|general-numeric-sort"
    " i|ignore-nonprinting M|month-sort h|human-numeric-sort n|numeric-sort R|random-sort"
    " random-source= r|reverse sort= V|version-sort batch-size= c|check~ C compress-program="
    " debug files0-from= k|key= m|merge o|output= s|stable S|buffer-size= t|field-separator="
    " T|temporary-directory= parallel= u|unique z|zero-terminated",
    "uniq": "c|count d|repeated D all-repeated? f|skip-fields= group? i|ignore-case s|skip-chars="
    " u|unique z|zero-terminated w|check-chars=",
    "cut": "b|bytes= c|characters= d|delimiter= f|fields= n complement s|only-delimited"
    " output-delimiter= z|zero-terminated",
    "wc": "c|bytes m|chars l|lines files0-from= L|max-line-length w|words total=",
    "ls": "a|all A|almost-all author b|escape block-size= B|ignore-backups c C color? d|directory"
    " D|dired f F|classify~ file-type format= full-time g group-directories-first G|no-group"
    " h|human-readable si H|dereference-command-line hide= hyperlink? indicator-style= i|inode"
    " I|ignore= k|kibibytes l L|dereference m n|numeric-uid-gid N|literal o p q|hide-control-chars"
    " show-control-chars Q|quote-name quoting-style= r|reverse R|recursive s|size S sort= time="
    " time-style= t T|tabsize= u U v w|width= x X Z|context zero 1",
    "du": "0|null a|all apparent-size B|block-size= b|bytes c|total D|dereference-args"
    " d|max-depth= files0-from= H h|human-readable inodes k l|count-links L|dereference m"
    " P|no-dereference S|separate-dirs si s|summarize t|threshold= time? time-style="
    " X|exclude-from= exclude= x|one-file-system",
    "dd": "%assignments",
    "find": "%expression",
    "tar": (
        "%old A|catenate|concatenate c|create d|compare|diff delete r|append t|list u|update"
        " x|get|extract f|file= C|directory= z|gunzip|ungzip|gzip j|bzip2 J|xz"
        " Z|compress|uncompress lzip lzma lzop zstd a|auto-compress I|use-compress-program="
        " v|verbose p|preserve-permissions same-owner no-same-owner same-permissions"
        " k|keep-old-files overwrite U|unlink-first recursive-unlink remove-files O|to-stdout"
        " to-command= checkpoint? checkpoint-action= exclude= X|exclude-from= T|files-from="
        " strip-components= transform= xform= owner= group= mode= mtime= h|dereference"
        " l|check-links m|touch n|seek o w|interactive|confirmation W|verify P|absolute-names"
        " S|sparse s|preserve-order b|blocking-factor= g|listed-incremental= G|incremental"
        " L|tape-length= M|multi-volume F|info-script= new-volume-script= rsh-command="
        " rmt-command= K|starting-file= N|newer= V|label= H|format= numeric-owner wildcards"
        " no-recursion one-file-system index-file= record-size= suffix= backup? warning= totals?"
        " null no-overwrite-dir skip-old-files keep-newer-files sort= R|block-number"
        " B|read-full-records i|ignore-zeros"
    ),
    "gzip": (
        "c|to-stdout|stdout d|uncompress|decompress f|force k|keep l|list n|no-name N|name"
        " q|quiet r|recursive S|suffix= t|test v|verbose h|help L|license V|version 1|fast 2 3 4"
        " 5 6 7 8 9|best rsyncable"
    ),
    "gunzip": "c|to-stdout|stdout f|force k|keep l|list n|no-name N|name q|quiet r|recursive"
    " S|suffix= t|test v|verbose",
    "unzip": "%exact p l t v f u x= d= n o j q a b C L M V X K Z",
    "zip": "%exact r|recurse-paths q|quiet 9 m|move d|delete u|update f|freshen j|junk-paths"
    " e|encrypt P|password= x|exclude= i|include= T|test TT= y|symlinks v|verbose b= t= n= o A F",
    "split": "a|suffix-length= additional-suffix= b|bytes= C|line-bytes= d numeric-suffixes? x"
    " hex-suffixes? e|elide-empty-files filter= l|lines= n|number= t|separator= u|unbuffered"
    " verbose",
    "mkfs": "t|type= V|verbose",
    "mke2fs": "%exact b= C= D c E= e= F f= g= G= i= I= j J= L= l= m= M= n N= o= O= q r= S t= T= U="
    " v V z= d=",
    "mkfs.xfs": "%exact f L= b= d= i= l= m= n= p= q r= s= K N V",
    "mount": "a|all B|bind R|rbind F|fork f|fake i L|label= l m|mkdir? N|namespace= n|no-mtab"
    " O|test-opts= o|options= r|read-only s t|types= U|uuid= v|verbose w|rw M|move source= target=",
    "umount": "a|all A|all-targets c d|detach-loop f|force i l|lazy N|namespace= n|no-mtab"
    " O|test-opts= q|quiet R|recursive r|read-only t|types= v|verbose",
    "patch": "b|backup B|prefix= c|context d|directory= D|ifdef= e|ed E|remove-empty-files f|force"
    " F|fuzz= g|get= i|input= l|ignore-whitespace n|normal N|forward o|output= p|strip="
    " r|reject-file= R|reverse s|quiet|silent t|batch T u|unified v V|version-control="
    " Y|basename-prefix= z|suffix= Z dry-run posix verbose",
    "perl": "%stop e= E= n p i? l? a F= w W c v x? M= m= I= s t T u U X 0? d? D? C? h S V?",
    "ruby": "%stop e= n p i? l a F= w W? c v x? r= I= s S T? 0? d h y C= E= K=",
    "node": "%stop %exact e|eval= p|print= c|check i|interactive r|require= import= input-type="
    " v|version h|help C|conditions= loader= experimental-loader= env-file= test watch inspect?"
    " inspect-brk? max-old-space-size= stack-size= title= openssl-config= no-warnings",
    "bun": "%stop %exact e|eval= p|print= cwd= c|config= r|preload|require|import= env-file=",
    "lua": "%stop e= l= i v E W",
    "osascript": "%stop e= l= s= i",
    "Rscript": "%stop %exact e= default-packages= verbose version",
    "php": "%stop %exact r= f= d= c= n a B= R= F= E= S= t= i l m v w s z= h",
    "python": "%stop c= m= b B d E h i I O P q s S u v V x W= X? check-hash-based-pycs=",
    "awk": (
        "%stop f|file= v|assign= F|field-separator= e|source= i|include= E|exec= l|load="
        " n|non-decimal-data o|pretty-print? p|profile? d|dump-variables? D|debug? c|traditional"
        " P|posix r|re-interval s|no-optimize O|optimize S|sandbox t|lint-old"
        " b|characters-as-bytes h L|lint?"
    ),
    "lvremove": "A|autobackup= f|force n|nohistory S|select= t|test y|yes h|help d|debug q|quiet"
    " v|verbose commandprofile= config= devices= devicesfile= driverloaded= journal= lockopt="
    " longhelp nolocking noudevsync profile= reportformat= version",
    "wipefs": "a|all b|backup? f|force h|help i|noheadings J|json lock? n|no-act o|offset="
    " O|output= p|parsable q|quiet t|types= V|version",
    "xargs": "%stop 0|null a|arg-file= d|delimiter= E= e|eof? I= i|replace? J= l? L|max-lines="
    " n|max-args= o|open-tty P|max-procs= p|interactive process-slot-var= r|no-run-if-empty"
    " s|max-chars= t|verbose x|exit show-limits R= S=",
    "crontab": "%exact u= l e r i s c n= T= V",
    "kill": "%signal s|signal= q|queue= n= p l|list? L|table a|all timeout= verbose",
    "pkill": "%signal signal= q|queue= e|echo c|count f|full g|pgroup= G|group= i|ignore-case"
    " n|newest o|oldest O|older= P|parent= s|session= t|terminal= u|euid= U|uid= x|exact"
    " F|pidfile= L|logpidfile r|runstates= A|ignore-ancestors H|require-handler a cgroup= ns="
    " nslist= env= l",
    "killall": "%signal e|exact I|ignore-case g|process-group y|younger-than= o|older-than="
    " i|interactive l|list q|quiet r|regexp s|signal= u|user= v|verbose w|wait n|ns= Z|context=",
}
ALIASES = {
    "sudoedit": "sudo",
    "egrep": "grep",
    "fgrep": "grep",
    "zgrep": "grep",
    "gsed": "sed",
    "gtar": "tar",
    "bsdtar": "tar",
    "ggrep": "grep",
    "grm": "rm",
    "gcp": "cp",
    "gmv": "mv",
    "gfind": "find",
    "gxargs": "xargs",
    "mkfs.ext2": "mke2fs",
    "mkfs.ext3": "mke2fs",
    "mkfs.ext4": "mke2fs",
    "gawk": "awk",
    "mawk": "awk",
    "nawk": "awk",
    "nodejs": "node",
    "pigz": "gzip",
    "vgremove": "lvremove",
    "pvremove": "lvremove",
}
