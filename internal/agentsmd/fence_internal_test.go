package agentsmd

import "testing"

func TestFences(t *testing.T) {
	for line, want := range map[string]fence{
		"```": {'`', 3}, "~~~": {'~', 3}, "`````": {'`', 5}, "```go": {'`', 3}, "~~~ `x` ~~~": {'~', 3}, "```\r": {'`', 3},
		"   ```": {'`', 3}, "\t```": {'`', 3}, "- ```": {'`', 3}, "* - 1. ~~~": {'~', 3}, "12) ```": {'`', 3},
		"": {}, "``": {}, "~ ~~~": {}, "~~ ~~~": {}, "```x```": {}, "``` `": {}, "x ```": {}, "> ```": {}, "-```": {}, "1234567890. ```": {},
	} {
		if got := opens(line); got != want {
			t.Errorf("%q opens %+v, want %+v", line, got, want)
		}
	}
	for line, want := range map[string]bool{
		"````": true, "`````": true, "  ```` \t\r": true, "```": false, "~~~~": false, "````go": false, "```` x": false, "": false,
	} {
		if got := (fence{'`', 4}).closedBy(line); got != want {
			t.Errorf("%q closes: %v", line, got)
		}
	}
}
