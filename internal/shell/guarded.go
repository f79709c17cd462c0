package shell

import (
	"slices"
	"strings"
)

// guarded are the commands that read, and have options or operands that write or
// run.
func guarded() map[string]rule {
	return map[string]rule{
		"sort": closed(options(`-b -d -f -g -i -M -h -n -N -R -r -V -c -C -k: -m -s -S: -t: -u -z -# --ignore-leading-blanks --dictionary-order
			--ignore-case --general-numeric-sort --ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort --random-sort --random-source:
			--reverse --sort: --version-sort --batch-size: --check? --debug --files0-from: --key: --merge --stable --buffer-size: --field-separator:
			--parallel: --unique --zero-terminated --version --help`), nil),
		"uniq": closed(options(`-# -c -d -D -f: -i -s: -u -z -w: --count --repeated --all-repeated? --skip-fields: --group? --ignore-case --skip-chars:
			--unique --zero-terminated --check-chars:`), atMost(1)),
		"sed": {sed}, "gsed": {sed}, "awk": {awk}, "gawk": {awk}, "mawk": {awk}, "nawk": {awk},
		"tree": closed(options(`-a -d -l -f -x -L: -P: -I: -p -u -g -s -h -D -F -q -N -Q -r -t -c -U -v -n -C -A -S -i -J -X --gitignore --gitfile:
			--matchdirs --ignore-case --noreport --charset: --filelimit: --si --du --timefmt: --dirsfirst --filesfirst --sort: --inodes --device --prune
			--info --metafirst --fromfile --version --help`), nil),
		"file": closed(options(`-b -c -e: -E -f: -F: -h -i -I -k -L -l -m: -n -N -P: -r -s -v -z -Z -0 --brief --exclude: --files-from: --separator:
			--mime --mime-type --mime-encoding --apple --extension --keep-going --dereference --no-dereference --no-buffer --no-pad --print0
			--raw --special-files --uncompress --version --help --list --checking-printout --parameter:`), nil),
		"date": closed(options(`-u -d: -r: -R -I? -f: -j -v: --date: --utc --universal --reference: --rfc-email --rfc-3339: --iso-8601? --debug --file: --help --version`), dateFormat),
		"xxd": closed(options(`-a -b -c: -e -E -g: -h -i -l: -n: -o: -p -ps -plain -postscript -d -r -s: -seek: -u -v -autoskip -bits -cols: -groupsize:
			-include -len: -offset: -revert -uppercase -# --help --version`).words(), atMost(1)),
		"rg": closed(options(`-# -A: -B: -C: -E: -F -H -I -L -M: -N -P -S -T: -U -V -a -b -c -d: -e: -f: -g: -h -i -j: -l -m: -n -o -p -q -r: -s -t: -u -v -w -x -. -0
			--after-context: --before-context: --context: --encoding: --fixed-strings --with-filename --no-filename --follow --max-columns:
			--max-columns-preview --no-line-number --pcre2 --smart-case --type-not: --multiline --multiline-dotall --text --byte-offset --count
			--count-matches --max-depth: --regexp: --file: --glob: --iglob: --ignore-case --threads: --files-with-matches --files-without-match
			--max-count: --line-number --only-matching --pretty --quiet --replace: --case-sensitive --type: --type-add: --type-clear: --type-list
			--unrestricted --invert-match --word-regexp --line-regexp --hidden --null --null-data --files --sort: --sortr: --stats --json --vimgrep
			--color: --colors: --column --no-column --heading --no-heading --no-ignore --no-ignore-vcs --no-ignore-parent --no-ignore-global
			--no-ignore-dot --no-ignore-exclude --ignore-file: --no-messages --no-config --no-hidden --no-follow --trim --no-trim --passthru
			--passthrough --crlf --debug --trace --engine: --dfa-size-limit: --regex-size-limit: --max-filesize: --mmap --no-mmap --one-file-system
			--no-pcre2-unicode --no-unicode --binary --include-zero --glob-case-insensitive --context-separator: --field-match-separator:
			--field-context-separator: --path-separator: --line-buffered --block-buffered --no-require-git --auto-hybrid-regex --stop-on-nonmatch
			--version --help --pcre2-version --generate:`), nil),
		"fd": fd(), "fdfind": fd(),
		"ag": closed(options(`-# -A: -B: -C: -G: -Q -c -l -L -i -s -S -v -w -n -r -R -g: -u -U -a -t -o -m: --hidden --depth: --ignore: --ignore-dir: --literal
			--count --nocolor --nogroup --noheading --files-with-matches --vimgrep --go --js --python --ts --rust`), nil),
		"less": closed(options(`-# -N -S -R -r -F -X -n -i -I -M -m -s -e -E -G`), pager),
		"more": closed(options(`-# -d -f -l -p -c -s -u`), pager),
		"bat":  bat(), "batcat": bat(),
		"yq":       closed(options(yqOptions), yq),
		"base64":   closed(options(`-d -D -w: -b: --decode --wrap: --break:`), nil),
		"base32":   closed(options(`-d -w: --decode --wrap:`), nil),
		"iconv":    closed(options(`-f: -t: -c -l -s --from-code: --to-code: --list --silent`), nil),
		"hostname": closed(options(`-a -A -d -f -i -I -s -y --alias --all-fqdns --all-ip-addresses --domain --fqdn --long --ip-address --short`), noOperands),
		"lsof":     closed(options(`-a -n -P -p: -u: -c: -t -i? -l -R`), nil),
		"ss":       closed(options(`-t -l -n -p -u -a -s -x -e -m -i -4 -6 -H --tcp --udp --listening --numeric --processes --all --summary`), nil),
		"netstat":  closed(options(`-t -l -n -p -u -a -s -r -i -e -v -4 -6`), noOperands),
		"crontab":  closed(options(`-l`), needs("crontab -l", "-l")),
		"cloc":     closed(options(`--by-file --json --csv --yaml --quiet --vcs: --exclude-dir: --include-lang: --exclude-lang: --exclude-ext: --include-ext:`), clocCheck),
		"scc":      closed(options(`-f: -s: -i: -w --by-file --no-cocomo --no-complexity --exclude-dir: --format: --sort: --include-ext: --wide`), nil),
		"gofmt":    closed(options(`-l -d -e -s -r:`).words(), nil),
		"dmesg":    closed(options(`-T -t -x -k -u -l: -f: --ctime --level: --facility: --decode --kernel --userspace`), noOperands),
		"man":      {manual},
		"bc":       closed(options(`-l -q -s -w --mathlib --quiet --standard --warn`), noOperands),
	}
}

// dateFormat refuses an operand that is no format: it sets the clock.
func dateFormat(c call, a arguments) *refusal {
	for _, w := range a.operands {
		if !strings.HasPrefix(w.text, "+") {
			return refuse("date with %s sets the clock", source(w)).or("date +%F").without(w.syntax())
		}
	}
	return nil
}

func fd() rule {
	return closed(options(`-# -H -I -u -s -i -g -F -a -l -L -p -0 -d: -t: -e: -E: -S: -c: -j: -1 -q --hidden --no-ignore --no-ignore-vcs --unrestricted
		--case-sensitive --ignore-case --glob --regex --fixed-strings --absolute-path --relative-path --follow --full-path --print0 --max-depth: --min-depth:
		--exact-depth: --type: --extension: --exclude: --size: --changed-within: --changed-before: --color: --max-results: --quiet --prune --owner:
		--strip-cwd-prefix --one-file-system --no-follow --no-hidden --no-require-git --version --help`), nil)
}

// pager refuses +, which begins a command of the pager.
func pager(c call, a arguments) *refusal {
	if len(a.operands) == 0 {
		return nil
	}
	for _, w := range a.operands {
		if strings.HasPrefix(w.text, "+") || !w.whole && w.text == "" && !w.tame {
			return refuse("%s runs what follows +", c.name).or("cat FILE").without(w.syntax())
		}
	}
	return devices(c, a)
}

func bat() rule {
	return closed(options(`-p -n -A -l: -r: -H: --plain --number --language: --line-range: --highlight-line: --style: --color: --decorations: --paging: --show-all
		--theme: --tabs: --wrap: --no-pager --list-languages --list-themes`), func(c call, a arguments) *refusal {
		if len(a.operands) > 0 && a.operands[0].is("cache") {
			return refuse("%s cache writes", c.name)
		}
		for _, f := range a.flags {
			if f.name == "--paging" && !f.value.is("never") {
				return refuse("a pager waits for a person").or("bat --paging=never FILE")
			}
		}
		return nil
	})
}

// clocCheck refuses what makes cloc run a tool of the workspace.
func clocCheck(c call, a arguments) *refusal {
	for _, f := range a.flags {
		if f.name == "--vcs" && !f.value.is("git") {
			return refuse("cloc --vcs runs what it is given").or("cloc --vcs=git .")
		}
	}
	return nil
}

const yqOptions = `-r -P -C -M -N -e -n -c -y -Y -R -o: -p: -I: -j -V -0 --output-format: --input-format: --prettyPrint --colors --no-colors --no-doc
	--exit-status --null-input --indent: --unwrapScalar? --raw-output --tojson --arg: --argjson: --version --help --expression: --header-preprocess`

// yq refuses an expression that is not known, and operators that run or write.
func yq(_ call, a arguments) *refusal {
	texts := slices.Clone(a.operands)
	for _, f := range a.flags {
		if f.given {
			texts = append(texts, f.value)
		}
	}
	for _, w := range texts {
		if strings.Contains(w.text, "system") || strings.Contains(w.text, "exec") {
			return refuse("this expression of yq may run a command").or("yq '.a' FILE")
		}
	}
	if len(a.operands) > 0 && !a.operands[0].whole && !a.operands[0].tame {
		return refuse("the expression of yq is not known before it runs").or("yq '.a' FILE")
	}
	return nil
}

// manual allows a page by its name: the options of man name programs to show it with.
func manual(_ *judge, c call) *refusal {
	for _, w := range c.words {
		if !w.whole || !plainText().MatchString(w.text) || strings.Contains(w.text, "/") {
			return refuse("man is allowed with the name of a page").or("man ls")
		}
	}
	return nil
}
