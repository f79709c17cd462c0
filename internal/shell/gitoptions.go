package shell

// The options of git that only read. Left out are --output, --ext-diff,
// --textconv, --show-signature, --remerge-diff, --filters and
// --open-files-in-pager, which write or run programs.

const gitDiffOptions = ` -# -p -u -s -U: -W -X? -z -B? -M? -C? -D -l: -w -b -I: -a -R -S: -G: -1 -2 -3 -c -m -r -t -0
	--patch --no-patch --unified: --function-context --raw --patch-with-raw --patch-with-stat --numstat --shortstat --dirstat? --cumulative
	--dirstat-by-file? --check --summary --name-only --name-status --stat? --stat-width: --stat-name-width: --stat-graph-width: --stat-count:
	--compact-summary --binary --full-index --color? --no-color --ws-error-highlight: --abbrev? --no-abbrev --src-prefix: --dst-prefix: --line-prefix:
	--no-prefix --default-prefix --inter-hunk-context: --output-indicator-new: --output-indicator-old: --output-indicator-context:
	--break-rewrites? --find-renames? --irreversible-delete --find-copies? --find-copies-harder --no-renames --rename-empty --no-rename-empty --follow
	--minimal --ignore-all-space --ignore-space-change --ignore-space-at-eol --ignore-cr-at-eol --ignore-blank-lines --ignore-matching-lines:
	--indent-heuristic --no-indent-heuristic --patience --histogram --diff-algorithm: --anchored: --word-diff? --word-diff-regex: --color-words?
	--color-moved? --no-color-moved --color-moved-ws: --relative? --no-relative --text --exit-code --quiet --no-ext-diff --no-textconv --ignore-submodules?
	--submodule? --ita-invisible-in-index --ita-visible-in-index --pickaxe-all --pickaxe-regex --rotate-to: --skip-to: --find-object: --diff-filter:
	--cached --staged --merge-base --no-index --cc --combined-all-paths --base --ours --theirs --root --no-commit-id --stdin --always --pretty? --format: `

const gitLogOptions = gitDiffOptions + ` -n: -i -E -F -P -g -L: -q --oneline --graph --no-graph --all --branches? --tags? --remotes? --glob: --exclude: --decorate?
	--no-decorate --decorate-refs: --decorate-refs-exclude: --clear-decorations --source --mailmap --use-mailmap --no-mailmap --no-merges --merges
	--min-parents: --max-parents: --no-min-parents --no-max-parents --first-parent --exclude-first-parent-only --reverse --since: --after: --until:
	--before: --since-as-filter: --author: --committer: --grep: --grep-reflog: --all-match --invert-grep --regexp-ignore-case --basic-regexp
	--extended-regexp --fixed-strings --perl-regexp --abbrev-commit --no-abbrev-commit --date: --relative-date --parents --children
	--left-right --cherry-pick --cherry-mark --cherry --left-only --right-only --boundary --simplify-by-decoration --simplify-merges --full-history
	--dense --sparse --show-pulls --ancestry-path? --topo-order --date-order --author-date-order --walk-reflogs --max-count: --skip: --no-walk? --do-walk
	--notes? --no-notes --show-notes? --encoding: --not --ignore-missing --remove-empty --log-size --count --objects --no-expand-tabs --expand-tabs?
	--show-linear-break? --merge --bisect --reflog --alternate-refs --single-worktree --no-diff-merges --diff-merges: --dd --full-diff --max-age: --min-age: `

const gitRevListOptions = gitLogOptions + ` --quiet --disk-usage? --header --timestamp --objects-edge --unpacked --filter: --no-object-names --use-bitmap-index
	--in-commit-order --no-commit-header --commit-header --exclude-hidden: `

const gitShortlogOptions = gitLogOptions + ` -s -e -n -c -w? --numbered --summary --email --committer --group: `

const gitListOptions = ` -i --contains~ --no-contains~ --merged~ --no-merged~ --points-at~ --sort: --format: --color? --no-color --column? --no-column --ignore-case --omit-empty `

const gitGrepOptions = ` -# -v -i -w -a -I -r -E -G -F -P -n -h -H -l -L -z -o -c -C: -B: -A: -p -W -f: -e: -q -m: --cached --no-index --untracked --exclude-standard
	--no-exclude-standard --recurse-submodules --invert-match --ignore-case --word-regexp --text --recursive --no-recursive --max-depth: --extended-regexp
	--basic-regexp --fixed-strings --perl-regexp --line-number --column --full-name --files-with-matches --name-only --files-without-match --null
	--only-matching --count --color? --no-color --break --heading --context: --before-context: --after-context: --threads: --show-function
	--function-context --and --or --not --quiet --all-match --max-count: --no-textconv `

const gitStatusOptions = ` -s -b -v -z -u? -M? --short --branch --show-stash --porcelain? --long --verbose --untracked-files? --ignore-submodules? --ignored?
	--column? --no-column --ahead-behind --no-ahead-behind --renames --no-renames --find-renames? --null `

const gitBlameOptions = ` -b -l -t -S: -p -M? -C? -h -c -f -n -s -e -w -L: --root --show-stats --reverse --porcelain --line-porcelain --incremental --encoding:
	--date: --show-name --show-number --show-email --abbrev: --color-lines --color-by-age --ignore-rev: --ignore-revs-file: --first-parent --since:
	--no-progress --progress --score-debug --minimal --contents: --diff-algorithm: `

const gitLsFilesOptions = ` -c -d -m -o -i -s -u -k -t -v -f -z -x: -X: --cached --deleted --modified --others --ignored --stage --unmerged --killed --directory
	--no-empty-directory --eol --deduplicate --exclude: --exclude-from: --exclude-per-directory: --exclude-standard --error-unmatch --with-tree:
	--full-name --recurse-submodules --abbrev? --format: --sparse --resolve-undo --debug `

const gitRevParseOptions = ` -q --show-toplevel --git-dir --git-common-dir --absolute-git-dir --is-inside-work-tree --is-inside-git-dir --is-bare-repository
	--is-shallow-repository --show-prefix --show-cdup --show-superproject-working-tree --abbrev-ref? --short? --verify --quiet --symbolic --symbolic-full-name
	--all --branches? --tags? --remotes? --glob: --exclude: --git-path: --show-object-format? --default: --revs-only --no-revs --flags --no-flags
	--sq --not --since: --until: --after: --before: --path-format: --show-ref-format --local-env-vars --end-of-options --resolve-git-dir: --disambiguate: `
