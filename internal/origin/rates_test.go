package origin

import (
	"fmt"
	"net/http"
	"testing"
)

func TestClientsThatAreCountedAreBounded(t *testing.T) {
	var rates Rates
	for n := range 3 * maxLimited {
		r := &http.Request{RemoteAddr: fmt.Sprintf("[2001:db8:%x:%x::%x]:1", n>>16, n&0xffff, n)}
		if !rates.Take(ClientOf(r), 1, 1) || rates.Take(ClientOf(r), 1, 1) {
			t.Fatalf("%s is not counted by itself", ClientOf(r))
		}
	}
	if n := len(rates.limiters); n > maxLimited {
		t.Errorf("%d clients are counted", n)
	}
	for a, b := range map[string]string{"[2001:db8::1]:1": "[2001:db8::ffff:1]:2", "192.0.2.1:1": "192.0.2.1:2"} {
		if a, b := ClientOf(&http.Request{RemoteAddr: a}), ClientOf(&http.Request{RemoteAddr: b}); a != b {
			t.Errorf("%s and %s", a, b)
		}
	}
}
