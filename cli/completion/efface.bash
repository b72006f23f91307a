# Completion of efface for bash. Models are not completed: a store would have to be opened for that.

_efface() {
    local cur prev command options
    COMPREPLY=()
    cur=${COMP_WORDS[COMP_CWORD]}
    prev=${COMP_WORDS[COMP_CWORD - 1]}
    command=${COMP_WORDS[1]}

    if ((COMP_CWORD == 1)); then
        options="fit forget learn predict export info verify check rekey drop receipt"
        mapfile -t COMPREPLY < <(compgen -W "$options help --help --version" -- "$cur")
        return
    fi

    case $prev in
    --method) options="lloyd quantized pyramid tree" ;;
    --leaf-method | --node-method) options="lloyd quantized pyramid" ;;
    --scale) options="none minmax" ;;
    --header) options="yes no detect" ;;
    --ids) options="numbers text detect" ;;
    -k | --model | --seed | --iters | --epsilon | --gamma | --width | --height | --rate | \
        --passes | --starts | --threads | --wait | --columns | --key | --owner-key | --weight | --label) return ;;
    --id | --owner) return ;;
    -o | --from | --sign | --receipt-key | --like | --secret | --public | --public-key)
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return
        ;;
    *)
        local data="--id --owner --weight --label --header --ids"
        case $command in
        fit) options="-k -o --model --method --seed --iters --epsilon --gamma --width --height
            --leaf-method --node-method --weigh --rate --passes --starts --scale --columns
            --threads --like --keep-texts --receipt-key --wait $data" ;;
        forget) options="--id --key --owner --owner-key --from --dry-run --skip-missing --sign
            --yes" ;;
        learn) options="--sign $data" ;;
        predict) options="-o --model --columns --wait $data" ;;
        export) options="--centroids --labels --canonical --receipts -o --model --wait" ;;
        verify) options="--model --wait" ;;
        rekey) options="--model --seed --yes" ;;
        drop) options="--model --yes" ;;
        receipt)
            case ${COMP_WORDS[2]} in
            keys) options="--secret --public" ;;
            verify) options="--public-key" ;;
            esac
            if ((COMP_CWORD == 2)); then
                mapfile -t COMPREPLY < <(compgen -W "keys verify --help" -- "$cur")
                return
            fi
            ;;
        help)
            options="fit forget learn predict export info verify check rekey drop receipt"
            mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
            return
            ;;
        info) options="--model --full --wait" ;;
        check) options="--wait" ;;
        *) return ;;
        esac
        if [[ $cur != -* ]]; then
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            return
        fi
        options+=" --json --help"
        ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
}

complete -o filenames -F _efface efface
