package shell

// readers are the commands that print what they find and have no option that
// writes or runs anything, in their GNU and BSD forms.
func readers() map[string]rule {
	grep := open(options(`-E -F -G -P -e: -f: -i -w -x -z -y -s -v -V -m: -b -n -H -h -o -q -a -I -d: -D: -r -R -L -l -c -T -Z -B: -A: -C: -U -u -S -O -p -#
		--extended-regexp --fixed-strings --basic-regexp --perl-regexp --regexp: --file: --ignore-case --no-ignore-case --word-regexp --line-regexp
		--null-data --no-messages --invert-match --max-count: --byte-offset --line-number --line-buffered --with-filename --no-filename --label:
		--only-matching --quiet --silent --binary-files: --text --directories: --devices: --recursive --dereference-recursive --include: --exclude:
		--exclude-from: --exclude-dir: --include-dir: --files-without-match --files-with-matches --count --initial-tab --null --before-context:
		--after-context: --context: --group-separator: --no-group-separator --color? --colour? --binary --help --version --unix-byte-offsets`))
	sums := open(options(`-a: -b -c -l: -t -z -w -q -r -s -p --algorithm: --binary --check --length: --tag --untagged --text --zero --ignore-missing --quiet --status --strict --warn --help --version`))
	return map[string]rule{
		"cat": open(options(`-A -b -e -E -n -s -t -T -u -v -l --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs
			--show-nonprinting --help --version`)),
		"head": open(options(`-# -c: -n: -q -v -z --bytes: --lines: --quiet --silent --verbose --zero-terminated --help --version`)),
		"tail": open(options(`-# -c: -f -F -n: -q -r -s: -v -z -b: --bytes: --follow? --lines: --max-unchanged-stats: --pid: --quiet --silent --retry
			--sleep-interval: --verbose --zero-terminated --help --version`)),
		"wc": open(options(`-c -m -l -L -w --bytes --chars --lines --files0-from: --max-line-length --words --total: --help --version`)),
		"ls": open(options(`-a -A -b -B -c -C -d -D -e -f -F -g -G -h -H -i -I: -k -l -L -m -n -N -o -O -p -P -q -Q -r -R -s -S -t -T: -u -U -v -w: -x -X -Z -1 -@ -%
			--all --almost-all --author --escape --block-size: --ignore-backups --color? --directory --dired --classify? --file-type --format:
			--full-time --group-directories-first --no-group --human-readable --si --dereference-command-line --dereference
			--dereference-command-line-symlink-to-dir --hide: --hyperlink? --indicator-style: --inode --ignore: --kibibytes --numeric-uid-gid --literal
			--hide-control-chars --show-control-chars --quote-name --quoting-style: --reverse --recursive --size --sort: --time: --time-style: --tabsize:
			--width: --context --zero --help --version`)),
		"grep": grep, "egrep": grep, "fgrep": grep, "zgrep": closed(options(`-E -F -i -w -v -n -H -h -o -q -l -c -s -e: -m: -A: -B: -C: -#
			--ignore-case --count --extended-regexp`), nil),
		"cut": open(options(`-b: -c: -d: -f: -n -s -w -z --bytes: --characters: --delimiter: --fields: --complement --only-delimited --output-delimiter:
			--zero-terminated --help --version`)),
		"tr":    open(options(`-c -C -d -s -t -u --complement --delete --squeeze-repeats --truncate-set1 --help --version`)),
		"comm":  open(options(`-1 -2 -3 -i -z --check-order --nocheck-order --output-delimiter: --total --zero-terminated --help --version`)),
		"join":  open(options(`-a: -e: -i -j: -o: -t: -v: -1: -2: -z --ignore-case --check-order --nocheck-order --header --zero-terminated --help`)),
		"paste": open(options(`-d: -s -z --delimiters: --serial --zero-terminated --help --version`)),
		"nl": open(options(`-b: -d: -f: -h: -i: -l: -n: -p -s: -v: -w: --body-numbering: --section-delimiter: --footer-numbering: --header-numbering:
			--line-increment: --join-blank-lines: --number-format: --no-renumber --number-separator: --starting-line-number: --number-width: --help`)),
		"tac":      open(options(`-b -r -s: --before --regex --separator: --help --version`)),
		"rev":      open(options(`-h -V --help --version`)),
		"fold":     open(options(`-# -b -s -c -w: --bytes --spaces --characters --width: --help --version`)),
		"fmt":      open(options(`-# -c -p: -s -t -u -w: -g: --crown-margin --prefix: --split-only --tagged-paragraph --uniform-spacing --width: --goal:`)),
		"expand":   open(options(`-# -i -t: --initial --tabs:`)),
		"unexpand": open(options(`-# -a -t: --all --first-only --tabs:`)),
		"column": open(options(`-t -n: -O: -N: -l: -E: -d -e -H: -R: -T: -W: -L -J -r: -i: -p: -c: -o: -s: -x -h -V --table --table-name: --table-order:
			--table-columns: --table-columns-limit: --table-noextreme: --table-noheadings --table-header-repeat --table-hide: --table-right:
			--table-truncate: --table-wrap: --keep-empty-lines --json --tree: --tree-id: --tree-parent: --output-width: --output-separator: --separator: --fillrows`)),
		"seq": rule{anything},
		"od":  open(options(`-# -A: -j: -N: -S: -t: -v -w? -a -b -c -d -f -i -l -o -s -x -X -D -h --address-radix: --endian: --skip-bytes: --read-bytes: --strings? --format: --output-duplicates --width? --traditional --help`)),
		"hexdump": open(options(`-b -c -C -d -o -x -X -L? -e: -f: -n: -s: -v --one-byte-octal --one-byte-char --canonical --two-bytes-decimal
			--two-bytes-octal --two-bytes-hex --color? --format: --format-file: --length: --skip: --no-squeezing`)),
		"hd": open(options(`-b -c -C -d -o -x -e: -n: -s: -v`)),
		"strings": open(options(`-# -a -d -f -n: -t: -w -o -e: -U: -s: --all --data --print-file-name --bytes: --radix: --include-all-whitespace
			--encoding: --unicode: --output-separator: --version --help`)),
		"cksum": sums, "md5sum": sums, "sha1sum": sums, "sha224sum": sums, "sha256sum": sums, "sha384sum": sums, "sha512sum": sums, "b2sum": sums,
		"shasum": sums, "sum": sums, "md5": sums,
		"du": open(options(`-# -0 -a -B: -b -c -D -d: -H -h -k -L -l -m -P -S -s -t: -X: -x -I: -g -n -A --null --all --apparent-size --block-size: --bytes
			--total --dereference-args --max-depth: --files0-from: --human-readable --inodes --dereference --count-links --no-dereference
			--separate-dirs --si --summarize --threshold: --time? --time-style: --exclude-from: --exclude: --one-file-system --help`)),
		"df": open(options(`-a -B: -h -H -i -k -l -P -t: -T -x: -v -m -g -Y -I -b -n --all --block-size: --human-readable --si --inodes --local --no-sync
			--output? --portability --total --type: --print-type --exclude-type: --help`)),
		"basename": open(options(`-a -s: -z --multiple --suffix: --zero`)), "dirname": open(options(`-z --zero`)),
		"realpath": open(options(`-e -m -L -P -q -s -z --canonicalize-existing --canonicalize-missing --logical --physical --quiet --relative-to:
			--relative-base: --strip --no-symlinks --zero`)),
		"readlink": open(options(`-f -e -m -n -q -s -v -z --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet --silent --verbose --zero`)),
		"stat":     open(options(`-L -f: -c: -t: -F -l -n -q -r -s -x --dereference --file-system --cached: --format: --printf: --terse --help --version`)),
		"cmp":      open(options(`-b -i: -l -n: -s -v -h -x -z --print-bytes --ignore-initial: --verbose --bytes: --quiet --silent`)),
		"diff": open(options(`-# -q -s -c -C: -u -U: -e -n -y -W: -p -F: -L: -t -T -r -N -P -x: -X: -S: -i -E -Z -b -w -B -I: -a -D: -d -v
			--normal --brief --report-identical-files --context? --unified? --ed --rcs --side-by-side --width: --left-column --suppress-common-lines
			--show-c-function --show-function-line: --label: --expand-tabs --initial-tab --tabsize: --suppress-blank-empty --recursive --no-dereference
			--new-file --unidirectional-new-file --ignore-file-name-case --no-ignore-file-name-case --exclude: --exclude-from: --starting-file:
			--from-file: --to-file: --ignore-case --ignore-tab-expansion --ignore-trailing-space --ignore-space-change --ignore-all-space
			--ignore-blank-lines --ignore-matching-lines: --text --strip-trailing-cr --ifdef: --old-group-format: --new-group-format:
			--unchanged-group-format: --changed-group-format: --line-format: --old-line-format: --new-line-format: --unchanged-line-format: --minimal
			--horizon-lines: --speed-large-files --color? --palette: --help --version`)),
		"jq": open(options(`-# -c -n -e -s -r -R -a -j -C -M -S -f: -L: -h -V --compact-output --null-input --exit-status --slurp --raw-output --raw-output0
			--raw-input --ascii-output --join-output --color-output --monochrome-output --sort-keys --from-file: --tab --indent: --unbuffered --stream
			--stream-errors --seq --arg: --argjson: --slurpfile: --rawfile: --args --jsonargs --help --version --binary -b`)),
		"ps": {anything}, "factor": {anything}, "expr": {anything}, "whoami": {anything}, "groups": {anything}, "nproc": {anything}, "uptime": {anything},
		"free": {anything}, "id": {anything}, "uname": {anything}, "arch": {anything}, "lscpu": {anything}, "lsblk": {anything}, "users": {anything},
		"who": {anything}, "w": {anything}, "pgrep": {anything}, "locale": {anything}, "getconf": {anything}, "tty": {anything}, "logname": {anything},
		"numfmt": {anything}, "tsort": {anything}, "look": {anything}, "zipinfo": {anything}, "which": {anything},
		"whereis": {anything}, "tokei": {anything}, "nm": closed(options(`-A -a -C? -D -f: -g -n -p -r -S -u -U -j --demangle? --dynamic --extern-only
			--defined-only --undefined-only --size-sort --print-size --numeric-sort`), nil),
		"size": closed(options(`-A -B -o -d -x -t --format:`), nil),
		"readelf": closed(options(`-a -h -l -S -g -t -e -s -n -r -u -d -V -A -c -D -W --file-header --program-headers --section-headers --sections --symbols
			--syms --dyn-syms --notes --relocs --dynamic --version-info --wide --all --headers`), nil),
		"objdump": closed(options(`-a -f -p -h -x -d -D -S -s -t -T -r -R -C -w -z -j: -M: -l --disassemble? --syms --section: --section-headers
			--file-headers --private-headers --all-headers --dynamic-syms --reloc --full-contents --demangle? --source --wide --no-show-raw-insn`), nil),
		"eza": {anything}, "exa": {anything}, "lsd": {anything},
		"pr":   closed(options(`-# -a -c -d -D: -e? -f -F -h: -i? -J -l: -m -n? -N: -o: -r -s? -S? -t -T -v -w: -W: --columns: --header: --length: --width:`), nil),
		"shuf": closed(options(`-e -i: -n: -r -z --echo --input-range: --head-count: --repeat --zero-terminated --random-source:`), nil),
	}
}
