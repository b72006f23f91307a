# Completion of efface for bash. Models are not completed: a store would have to be opened for that.

_efface() {
    local cur prev command options
    local commands="look fit forget learn update show owners predict export info digest verify check
        compact rekey publish drop receipt serve token"
    COMPREPLY=()
    cur=${COMP_WORDS[COMP_CWORD]}
    prev=${COMP_WORDS[COMP_CWORD - 1]}
    command=${COMP_WORDS[1]}

    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "$commands help --help --version" -- "$cur")
        return
    fi

    case $prev in
    --family) options="kmeans means linear ridge bayes discriminant components fourier segmented forest logistic svm" ;;
    --table) options="centroids coefficients errors quality means variances priors components segments importances" ;;
    --rows) options="all some poisson" ;;
    --criterion) options="gini entropy" ;;
    --method) options="lloyd quantized pyramid tree" ;;
    --leaf-method | --node-method) options="lloyd quantized pyramid" ;;
    --scale) options="none minmax standard" ;;
    --weigh) options="yes no" ;;
    --header) options="yes no detect" ;;
    --ids) options="numbers text detect" ;;
    -k | --model | --seed | --iters | --epsilon | --gamma | --width | --height | --rate | \
        --passes | --starts | --candidates | --bound | --target | --class | --categories | --trees | \
        --lattice | --sample | --steps | --depth | --min-split | --min-leaf | --trees-of-row | --alpha | --smoothing | \
        --shrinkage | -n | --components | --features | --threads | --wait | --columns | --ignore | --type | --offset | --listen | --host | --most-body | --most-rows | --under-way | --patience | --workers | --expires | --key | --owner-key | --weight | --label) return ;;
    --id | --owner) return ;;
    --role) options="read predict erase admin" ;;
    --format) options="text csv json" ;;
    -o | --from | --sign | --opening | --list | --ids-out | --receipt-key | --like | --secret | --public | --public-key | --tokens | --audit)
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return
        ;;
    *)
        local data="--id --owner --weight --label --ignore --header --ids"
        local who="--id --key --owner --owner-key --from"
        local change="--sign --receipt-key --opening --list --wait"
        case $command in
        fit) options="-k -o --family --model --method --seed --iters --epsilon --gamma --width --height
            --leaf-method --node-method --weigh --rate --passes --starts --candidates --bound --scale --columns
            --target --class --alpha --no-intercept --smoothing --quadratic --shrinkage -n --components --whiten
            --features --trees --depth --min-split --min-leaf --rows --trees-of-row --criterion
            --lattice --sample --steps --missing --categories --type --offset --threads --like --keep-texts --sign --receipt-key --opening --wait $data" ;;
        look) options="--header" ;;
        forget) options="$who $change --dry-run --skip-missing --yes" ;;
        learn) options="$change --ids-out --columns $data" ;;
        update) options="$change --yes --columns $data" ;;
        show) options="$who -o --format --wait" ;;
        owners) options="-o --format --wait" ;;
        compact) options="--receipt-key --wait" ;;
        predict) options="-o --model --probabilities --columns --type --wait $data" ;;
        export) options="--table --labels --canonical --receipts --forest -o --model --wait" ;;
        digest | verify) options="--model --wait" ;;
        rekey) options="--model --seed --yes --sign --receipt-key --opening --wait" ;;
        publish) options="-o --model --force --sign --receipt-key --opening --wait" ;;
        drop) options="--model --yes --sign --receipt-key --wait" ;;
        receipt)
            case ${COMP_WORDS[2]} in
            keys) options="--secret --public --receipt-key" ;;
            show) options="--public-key --wait" ;;
            verify) options="--public-key" ;;
            has) options="--id --key --from --list --receipt-key --wait" ;;
            esac
            if ((COMP_CWORD == 2)); then
                mapfile -t COMPREPLY < <(compgen -W "keys show verify has open --help" -- "$cur")
                return
            fi
            ;;
        serve) options="--listen --host --behind-tls --tokens --audit --sign --receipt-key --most-body
            --most-rows --rate --under-way --patience --workers --log-all" ;;
        token)
            options="--role --expires --tokens"
            if ((COMP_CWORD == 2)) && [[ $cur != -* ]]; then
                mapfile -t COMPREPLY < <(compgen -W "new list revoke" -- "$cur")
                return
            fi
            ;;
        help)
            mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$cur")
            return
            ;;
        info) options="--model --full --wait" ;;
        check) options="--public-key --wait" ;;
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
