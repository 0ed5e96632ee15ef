# Completion of anyhook for fish.
function __anyhook_completion
    set -l words (commandline -opc) (commandline -ct)
    # Names of hooks come from files: nothing is evaluated.
    set -l lines ($words[1] --complete fish $words[2..-1] 2>/dev/null)
    if test (count $lines) -gt 0
        printf '%s\n' $lines
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c anyhook -f -k -a '(__anyhook_completion)'
