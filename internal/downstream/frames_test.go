package downstream

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
)

// TestFramesAreLines: however they arrive, whole ones up to a length, and both ends of others.
func TestFramesAreLines(t *testing.T) {
	long := strings.Repeat("l", maxFrame)
	rapidtest.Check(t, func(r *rapid.T) { // megabytes each
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"", " ", "a", `{"a":1}`, "x" + long, long + "yz", long}), 0, 5).Draw(r, "lines")
		var got, want []string
		for _, line := range lines {
			switch {
			case len(line) > maxFrame:
				want = append(want, line[:kept]+"..."+line[len(line)-kept:])
			case strings.TrimSpace(line) != "":
				want = append(want, line)
			}
		}
		f := &frames{whole: func(line []byte) { got = append(got, string(line)) },
			long:  func(head, end []byte) { got = append(got, string(head)+"..."+string(end)) },
			ended: func() { r.Error("it was given up") }}
		text := strings.Join(append(lines, ""), "\n")
		for len(text) > 0 {
			sizes := []int{1, 7, kept - 1, kept + 1, 64 << 10, maxFrame, maxFrame + 1, 3 * maxFrame}
			n := min(rapid.SampledFrom(sizes).Draw(r, "n"), len(text))
			if n < 10 && len(text) > 100 {
				n = len(text) - n // small parts at the end alone
			}
			_, _ = f.Write([]byte(text[:n]))
			text = text[n:]
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			r.Fatalf("%d lines of %d", len(got), len(want))
		}
	})
}

// TestIDsOfMessagesThatCannotBeRead are found where they usually stand, and nowhere else.
func TestIDsOfMessagesThatCannotBeRead(t *testing.T) {
	for text, want := range map[string]int64{
		`{"jsonrpc":"2.0","id":7,"result":{"a":`:                    7,
		`{"id" : 7 ,"result":`:                                      7,
		`{"result":{"content":[]},"jsonrpc":"2.0","id":7}`:          7,
		`{"result":{"content":[]},"id":7,"jsonrpc":"2.0"}` + "\r":   7,
		`{"result":{"id":8,"x":[1]}}`:                               0,
		`{"result":{"a":{"id":8},"id":9}}`:                          0,
		`{"jsonrpc":"2.0","method":"x","params":{"id":7,"a":"aaa`:   0,
		`{"id":77777777777777777777777,"result":{}}`:                0,
		`just a line "id":7, of a log`:                              0,
		`{"result":{"text":"aaa \"},\"id\":8,"},"jsonrpc":"2.0","i`: 0,
	} {
		if got, _ := idOf([]byte(text), []byte(text)); got != want {
			t.Errorf("%s: %d", text, got)
		}
	}
}
