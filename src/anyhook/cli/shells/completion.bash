# Completion of anyhook for bash.
_anyhook_completion() {
    local word quoted current="${COMP_WORDS[COMP_CWORD]}"
    COMPREPLY=()
    # Names of hooks come from files: nothing is evaluated, and each word is quoted.
    while IFS= read -r word; do
        case "$current" in
            [\"\']*) quoted="$word" ;;
            *) printf -v quoted '%q' "$word" ;;
        esac
        COMPREPLY+=("$quoted")
    done < <("${COMP_WORDS[0]}" --complete bash "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
}
# -o nosort needs bash 4.4.
complete -o nosort -o default -F _anyhook_completion anyhook 2>/dev/null ||
    complete -o default -F _anyhook_completion anyhook
