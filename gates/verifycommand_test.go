package gates_test

import (
	"slices"
	"testing"
	"testing/fstest"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/plan"
)

// TestACommandThatCannotFailVerifiesNothing gives a vague task commands to verify it by.
func TestACommandThatCannotFailVerifiesNothing(t *testing.T) {
	for command, verifies := range map[string]bool{
		"": false, " ": false, "# go test ./...": false, "\n\n# later\n": false,
		"true": false, " true ": false, "/bin/true": false, "/usr/bin/true": false, ":": false, `"true"`: false,
		"'true'": false, "exit": false,
		"exit 0": false, "echo ok": false, `echo "all tests pass"`: false, "printf ok": false, "echo $(go test ./...)": false,
		"true; true": false, "go vet ./...; true": false, "go test ./... || true": false, "go test || :": false, "true && echo ok": false,
		"go test & ": false, "{ true; }": false, "(exit 0)": false, "! false": false, "false || echo ok": false, "command true": false,
		"env true": false, "time true": false, "test 1": false, "[ 1 = 1 ]": false, "[ -n x ]": false, "go test ./... | echo ok": false,
		"go test\necho done": false, "sh -c true": false, "bash -c 'exit 0'": false, "true # go test ./...": false, "> /dev/null": false,

		"go test ./...": true, "make check": true, "true && go test": true, "go test && echo ok": true, "! grep -q TODO main.go": true,
		"set -e; go test; echo ok": true, "go test || exit 1; echo ok": true, "go test | grep -q ok": true, "test -f main.go": true,
		"[ -s out.txt ]": true, "[ $x = 1 ]": true, `test "$(git status)" = ""`: true, "false": true, "exit 1": true,
		"sh -c 'go test'":                 true,
		"if grep -q x y; then exit 1; fi": true, "(go vet ./...)": true, "x=$(go test)": true, "echo ok | grep no": true,
		"env -i go test": true,
		"false && true":  true, "./true.sh": true, "go test ./... # true": true,
	} {
		task := whole(3, "Improve the API performance.", func(t *gates.Task) {
			t.AcceptanceCriteria, t.Verify, t.Type = nil, command, plan.Feature
		})
		report := check(t, gates.Options{}, gates.Candidate{Objective: "Ship it", New: []gates.Task{task}})
		var names []string
		for _, f := range report.Findings {
			names = append(names, f.Gate)
		}
		want := []string{"vague_outcome", "verifiable"}
		if verifies {
			want = nil
		}
		if !slices.Equal(names, want) {
			t.Errorf("%q: %v, want %v", command, names, want)
		}
	}
}

// TestVerifyIsACommand: prose is refused; a command that is not installed is a warning.
func TestVerifyIsACommand(t *testing.T) {
	installed := func(name string) bool { return slices.Contains([]string{"go", "sh", "test", "grep"}, name) }
	const prose, unknown = "verify_command", "verify_installed"
	for verify, want := range map[string][]string{
		"": nil, "go test ./...": nil,
		"sh -c 'go vet'": nil, "cd api && go test": nil, "[ -s main.go ]": nil, "! grep -q TODO main.go": nil,
		"if grep -q x y; then exit 1; fi": nil, "GOFLAGS=-v go test": nil, "$RUNNER all": nil, "main.go": nil, "./main.go --check": nil,
		"test that the login works": nil,

		"make test": {unknown}, "npm run lint": {unknown}, "pytest -k login": {unknown}, "./scripts/check.sh": {unknown},
		"phpunit tests/LoginTest.php": {unknown}, "verify": {unknown},

		"Check it manually": {prose}, "the tests pass": {prose}, "open the page and log in": {prose},
		"All tests are green": {prose}, "run unit tests": {prose}, "Manual testing.": {prose},
		"the user's login works": {prose}, "see (by hand": {prose},

		"go test ./... && GET /x returns 200": {prose}, "go vet; the page loads": {prose}, "go test | All is green": {prose},
		"go vet\nopen the page": {prose}, "(go vet && Check it manually)": {prose}, "curl x && GET /x returns 200": {prose},
		"cd api && go test ./...": nil, "A=1 go vet && B=2 go test": nil, "! grep the main.go": nil, "(cd api && go test ./...)": nil,
		"test -f x && [[ -s x ]]": nil, "for f in a b; do grep the $f; done": nil, "go test || exit 1; echo all is well": nil,
		"out=$(go test) && grep -q 'All is green' <<<\"$out\"": nil, "go test && npm run the-lint": nil,
	} {
		task := whole(3, "Improve the login of users.", func(t *gates.Task) { t.Verify = verify })
		report := check(t, gates.Options{Files: fstest.MapFS{"main.go": {}}, Commands: installed},
			gates.Candidate{Objective: "Ship it", New: []gates.Task{task}})
		var names []string
		for _, f := range report.Findings {
			if f.Field == "verify" {
				names = append(names, f.Gate)
			}
		}
		if !slices.Equal(names, want) {
			t.Errorf("%q: %v, want %v", verify, names, want)
		}
	}
}
