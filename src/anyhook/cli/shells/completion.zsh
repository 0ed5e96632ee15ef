#compdef anyhook
# Completion of anyhook for zsh.
_anyhook_completion() {
    local -a lines
    local line
    # Names of hooks come from files: nothing is evaluated.
    while IFS= read -r line; do
        lines+=("$line")
    done < <("${(Q)words[1]}" --complete zsh "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)
    if (( $#lines )); then
        _describe -V -t values 'anyhook' lines
    else
        _files
    fi
}
compdef _anyhook_completion anyhook
