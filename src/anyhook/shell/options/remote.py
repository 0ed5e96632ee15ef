"""Options of programs that reach other machines, containers, clusters, clouds and databases.

The format is described in `anyhook.shell.options`.
"""

from __future__ import annotations

_DOCKER_RUN = (
    "%stop %exact a|attach= add-host= annotation= blkio-weight= c|cpu-shares= cap-add= cap-drop="
    " cgroup-parent= cgroupns= cidfile= cpu-period= cpu-quota= cpus= cpuset-cpus= cpuset-mems="
    " d|detach detach-keys= device= device-cgroup-rule= dns= dns-option= dns-search= domainname="
    " entrypoint= e|env= env-file= expose= gpus= group-add= health-cmd= health-interval="
    " health-retries= health-timeout= help h|hostname= init i|interactive ip= ip6= ipc="
    " isolation= l|label= label-file= link= log-driver= log-opt= mac-address= m|memory="
    " memory-reservation= memory-swap= mount= name= network= net= network-alias= no-healthcheck"
    " oom-kill-disable pid= pids-limit= platform= privileged p|publish= P|publish-all pull= q|quiet"
    " read-only restart= rm runtime= security-opt= shm-size= sig-proxy? stop-signal= stop-timeout="
    " storage-opt= sysctl= tmpfs= t|tty ulimit= u|user= userns= uts= v|volume= volume-driver="
    " volumes-from= w|workdir="
)
_DOCKER_EXEC = (
    "%stop %exact d|detach detach-keys= e|env= env-file= i|interactive privileged t|tty u|user="
    " w|workdir="
)
_DOCKER_PRUNE = "%exact a|all f|force filter= volumes"
_KUBECTL = (
    " n|namespace= context= cluster= kubeconfig= s|server= token= user= as= as-group= as-uid="
    " request-timeout= certificate-authority= client-certificate= client-key= tls-server-name="
    " v|v= cache-dir= profile= insecure-skip-tls-verify? warnings-as-errors?"
)
_SELECT = (
    " f|filename= k|kustomize= l|selector= A|all-namespaces R|recursive o|output= field-selector="
    " all? w|watch? dry-run? force? wait? cascade? grace-period= now? timeout= ignore-not-found?"
    " raw= template= show-labels? field-manager= overwrite? local? server-side? prune? validate?"
    " force-conflicts? save-config? show-managed-fields? subresource= allow-missing-template-keys?"
)
_TERRAFORM = (
    "%single auto-approve input? lock? lock-timeout= no-color parallelism= refresh? refresh-only"
    " replace= target= var= var-file= state= state-out= backup= destroy out= chdir= json"
    " compact-warnings detailed-exitcode upgrade reconfigure migrate-state force-copy force"
    " backend? backend-config= get? plugin-dir= lockfile= from-module= allow-missing recursive"
    " check diff write? list? generate-config-out="
)

TABLES = {
    "ssh": "%stop %exact 4 6 A a B= b= C c= D= E= e= F= f G g I= i= J= K k L= l= M m= N n O= o= P="
    " p= Q= q R= S= s T t V v W= w= X x Y y",
    "scp": "%exact 3 4 6 A B C c= D= F= i= J= l= O o= P= p q R r S= s T v X=",
    "sftp": "%exact 4 6 A a B= b= C c= D= F= f i= J= l= N o= P= p q R= r S= s= v X=",
    "rsync": (
        "%exact v|verbose q|quiet no-motd c|checksum a|archive r|recursive R|relative"
        " no-implied-dirs b|backup backup-dir= suffix= u|update inplace append append-verify"
        " d|dirs mkpath l|links L|copy-links copy-unsafe-links safe-links munge-links"
        " k|copy-dirlinks K|keep-dirlinks H|hard-links p|perms E|executability chmod= A|acls"
        " X|xattrs o|owner g|group devices specials D t|times U|atimes O|omit-dir-times"
        " J|omit-link-times super fake-super S|sparse preallocate n|dry-run W|whole-file"
        " x|one-file-system B|block-size= e|rsh= rsync-path= existing ignore-existing"
        " remove-source-files del delete delete-before delete-during delete-delay delete-after"
        " delete-excluded ignore-errors force max-delete= max-size= min-size= partial"
        " partial-dir= delay-updates m|prune-empty-dirs numeric-ids usermap= groupmap= chown="
        " timeout= contimeout= I|ignore-times size-only @|modify-window= T|temp-dir= y|fuzzy"
        " compare-dest= copy-dest= link-dest= z|compress compress-choice= compress-level="
        " skip-compress= C|cvs-exclude f|filter= F exclude= exclude-from= include= include-from="
        " files-from= 0|from0 s|protect-args|secluded-args address= port= sockopts= blocking-io"
        " stats 8|8-bit-output h|human-readable progress P i|itemize-changes M|remote-option="
        " out-format= log-file= log-file-format= password-file= list-only bwlimit= write-batch="
        " only-write-batch= read-batch= protocol= iconv= checksum-seed= 4|ipv4 6|ipv6 info="
        " debug= stop-after="
    ),
    "curl": (
        "a|append A|user-agent= b|cookie= c|cookie-jar= C|continue-at= d|data= data-ascii="
        " data-binary= data-raw= data-urlencode= D|dump-header= e|referer= E|cert= cert-type="
        " key= key-type= cacert= capath= f|fail fail-early fail-with-body F|form= form-string="
        " g|globoff G|get h|help H|header= i|show-headers|include I|head j|junk-session-cookies"
        " J|remote-header-name k|insecure K|config= l|list-only L|location location-trusted"
        " m|max-time= M|manual n|netrc netrc-file= netrc-optional N|no-buffer o|output="
        " O|remote-name remote-name-all output-dir= create-dirs p|proxytunnel P|ftp-port="
        " q|disable Q|quote= r|range= R|remote-time s|silent S|show-error t|telnet-option="
        " T|upload-file= u|user= U|proxy-user= v|verbose V|version w|write-out= x|proxy="
        " X|request= y|speed-time= Y|speed-limit= z|time-cond= Z|parallel parallel-max="
        " 0|http1.0 http1.1 http2 http3 1|tlsv1 2|sslv2 3|sslv3 4|ipv4 6|ipv6 #|progress-bar ssl"
        " ssl-reqd tlsv1.2 tlsv1.3 url= json= compressed connect-timeout= retry= retry-delay="
        " retry-max-time= retry-all-errors retry-connrefused resolve= connect-to= interface="
        " limit-rate= max-redirs= max-filesize= noproxy= oauth2-bearer= aws-sigv4= trace="
        " trace-ascii= stderr= unix-socket= abstract-unix-socket= variable= expand-url="
        " expand-output= expand-data= request-target= path-as-is no-progress-meter tcp-nodelay"
        " doh-url= dns-servers= ciphers= proto= proto-default= proto-redir= socks5="
        " socks5-hostname= socks4= socks4a= preproxy= mail-from= mail-rcpt= next local-port="
        " keepalive-time= rate= etag-save= etag-compare= post301 post302 anyauth basic digest"
        " ntlm negotiate ftp-create-dirs hsts= alt-svc= pinnedpubkey= crlf raw"
    ),
    "wget": (
        "V|version h|help b|background e|execute= o|output-file= a|append-output= d|debug"
        " q|quiet v|verbose -nv|no-verbose report-speed= i|input-file= F|force-html B|base="
        " config= no-config t|tries= retry-connrefused retry-on-http-error= O|output-document="
        " -nc|no-clobber no-netrc c|continue start-pos= progress= show-progress N|timestamping"
        " no-if-modified-since S|server-response spider T|timeout= dns-timeout= connect-timeout="
        " read-timeout= w|wait= waitretry= random-wait no-proxy Q|quota= bind-address="
        " limit-rate= no-dns-cache 4|inet4-only 6|inet6-only prefer-family= user= password="
        " ask-password no-iri local-encoding= remote-encoding= unlink -nd|no-directories"
        " x|force-directories -nH|no-host-directories protocol-directories P|directory-prefix="
        " cut-dirs= default-page= E|adjust-extension http-user= http-password= no-cache header="
        " compression= max-redirect= proxy-user= proxy-password= referer= save-headers"
        " U|user-agent= no-http-keep-alive no-cookies load-cookies= save-cookies="
        " keep-session-cookies post-data= post-file= method= body-data= body-file="
        " content-disposition no-check-certificate certificate= certificate-type= private-key="
        " ca-certificate= r|recursive l|level= delete-after k|convert-links K|backup-converted"
        " m|mirror p|page-requisites A|accept= R|reject= accept-regex= reject-regex= D|domains="
        " exclude-domains= follow-ftp H|span-hosts L|relative I|include-directories="
        " X|exclude-directories= -np|no-parent"
    ),
    "docker": "%stop %exact config= c|context= D|debug H|host= l|log-level= tls tlscacert= tlscert="
    " tlskey= tlsverify v|version",
    "docker run": _DOCKER_RUN,
    "docker create": _DOCKER_RUN,
    "docker exec": _DOCKER_EXEC,
    "docker rm": "%exact f|force l|link v|volumes",
    "docker rmi": "%exact f|force no-prune platform=",
    "docker prune": _DOCKER_PRUNE,
    "docker system": "%stop %exact",
    "docker system prune": _DOCKER_PRUNE,
    "docker volume": "%stop %exact",
    "docker volume prune": _DOCKER_PRUNE,
    "docker volume rm": "%exact f|force",
    "docker compose": (
        "%stop %exact ansi= compatibility dry-run env-file= f|file= parallel= profile= progress="
        " project-directory= p|project-name= all-resources"
    ),
    "docker compose exec": "%stop %exact d|detach e|env= index= privileged T|no-TTY|no-tty u|user="
    " w|workdir= i|interactive t|tty",
    "docker compose run": (
        "%stop %exact build cap-add= cap-drop= d|detach entrypoint= e|env= i|interactive"
        " l|label= name= T|no-TTY no-deps p|publish= pull= quiet-pull remove-orphans rm"
        " P|service-ports use-aliases u|user= v|volume= w|workdir="
    ),
    "docker compose down": "%exact remove-orphans rmi= t|timeout= v|volumes",
    "docker build": "%exact f|file= t|tag= build-arg= target= no-cache pull platform= o|output="
    " secret= ssh= label= network= progress= q|quiet load push cache-from= cache-to= builder=",
    "kubectl": f"%stop %exact{_KUBECTL}",
    "kubectl exec": (
        f"%exact i|stdin t|tty c|container= f|filename= q|quiet pod-running-timeout={_KUBECTL}"
    ),
    "kubectl *": f"%exact{_SELECT}{_KUBECTL}",
    "kubectl logs": f"%exact f|follow c|container= l|selector= p|previous tail= since= since-time="
    f" all-containers timestamps prefix{_KUBECTL}",
    "kubectl scale": (
        f"%exact replicas= current-replicas= resource-version= timeout={_SELECT}{_KUBECTL}"
    ),
    "kubectl run": f"%exact image= i|stdin t|tty rm restart= command env= port= labels= overrides="
    f" attach dry-run= o|output= image-pull-policy= privileged expose q|quiet{_KUBECTL}",
    "kubectl drain": f"%exact ignore-daemonsets delete-emptydir-data delete-local-data force"
    f" grace-period= timeout= disable-eviction dry-run? pod-selector= l|selector={_KUBECTL}",
    "terraform": f"%stop {_TERRAFORM}",
    "terraform *": _TERRAFORM,
    "helm": (
        "%exact f|values= set= set-string= set-file= set-json= version= create-namespace"
        " i|install wait atomic timeout= dry-run? force reuse-values reset-values no-hooks"
        " keep-history kube-context= repo= username= password= o|output= d|destination="
        f" description= l|selector= A|all-namespaces a|all cascade= devel debug{_KUBECTL}"
    ),
    "aws": "%exact debug endpoint-url= no-verify-ssl no-paginate output= query= profile= region="
    " version color= no-sign-request ca-bundle= cli-read-timeout= cli-connect-timeout= no-cli-pager"
    " cli-input-json= recursive force delete dryrun quiet include= exclude= acl= storage-class="
    " sse sse-kms-key-id= exact-timestamps size-only follow-symlinks grants= source-region="
    " content-type= cache-control= expires= bucket= key= body= instance-ids= stack-name="
    " table-name= function-name= db-instance-identifier= user-name= role-name= policy-arn="
    " skip-final-snapshot no-skip-final-snapshot template-body= parameters= capabilities= filters="
    " group-id= group-name= name= cidr= protocol= port= volume-id= snapshot-id= image-id= vpc-id=",
    "gcloud": "%exact project= account= configuration= format= filter= q|quiet verbosity= zone="
    " region= impersonate-service-account= billing-project= flags-file= command= recursive"
    " async limit= sort-by= tunnel-through-iap ssh-key-file= ssh-flag= cluster= location= member="
    " role= image= source= tag= delete-disks= keep-disks= log-http user-output-enabled?",
    "az": "%exact subscription= g|resource-group= n|name= o|output= query= y|yes no-wait verbose"
    " debug only-show-errors l|location= ids=",
    "psql": "a|echo-all A|no-align b|echo-errors c|command= d|dbname= e|echo-queries E|echo-hidden"
    " f|file= F|field-separator= h|host= H|html l|list L|log-file= n|no-readline o|output= p|port="
    " P|pset= q|quiet R|record-separator= s|single-step S|single-line t|tuples-only T|table-attr="
    " U|username= v|set|variable= V|version w|no-password W|password x|expanded X|no-psqlrc"
    " z|field-separator-zero 0|record-separator-zero 1|single-transaction csv",
    "mysql": (
        "e|execute= D|database= h|host= p|password? P|port= u|user= S|socket= protocol= B|batch"
        " N|skip-column-names s|silent t|table v|verbose f|force H|html X|xml defaults-file="
        " defaults-extra-file= default-character-set= ssl-ca= ssl-mode= A|no-auto-rehash"
        " C|compress q|quick r|raw w|wait b|no-beep E|vertical n|unbuffered o|one-database"
        " init-command="
    ),
    "mysqladmin": "h|host= p|password? P|port= u|user= S|socket= f|force s|silent v|verbose",
    "redis-cli": (
        "%stop %exact h= p= s= a= n= u= r= i= x c= X= d= D= user= pass= askpass tls raw csv json"
        " eval= rdb= pipe scan pattern= bigkeys stat latency no-auth-warning sni= cacert= cert="
        " key="
    ),
    "mongosh": (
        "%exact eval= f|file= u|username= p|password= host= port= authenticationDatabase= quiet"
        " norc"
    ),
    "sqlite3": "%single cmd= separator= init= newline= nullvalue= vfs= batch bail csv json line"
    " list column table box markdown html readonly header noheader quote tabs ascii interactive",
    "ping": (
        "%exact c= i= I= l= m= M= p= Q= s= S= t= T= w= W= a A b B d D f h L n O q r R U v V 4 6"
    ),
    "nc": (
        "%exact e= c= i= I= m= O= P= p= q= s= T= V= w= X= x= k l n u v z 4 6 C D d F h N r S t U"
        " Z b"
    ),
    "dig": "%exact b= c= f= k= p= q= t= x= y= 4 6 i m r u v",
}
ALIASES = {
    "podman": "docker",
    "nerdctl": "docker",
    "tofu": "terraform",
    "oc": "kubectl",
    "k3s": "kubectl",
    "mariadb": "mysql",
    "ncat": "nc",
    "netcat": "nc",
    "slogin": "ssh",
}
