package cli

import (
	"os/exec"
	"reflect"
	"testing"
)

func TestBrowsers(t *testing.T) {
	const address = "http://127.0.0.1:8137/#enter=CODE"
	windows := []string{"rundll32.exe", "url.dll,FileProtocolHandler", address}
	for name, c := range map[string]struct {
		goos string
		env  map[string]string
		want [][]string
	}{
		"a desktop":  {"linux", map[string]string{"DISPLAY": ":0"}, [][]string{{"xdg-open", address}}},
		"Wayland":    {"linux", map[string]string{"WAYLAND_DISPLAY": "wayland-0"}, [][]string{{"xdg-open", address}}},
		"no desktop": {"linux", nil, nil},
		"WSL":        {"linux", map[string]string{"WSL_DISTRO_NAME": "Debian"}, [][]string{{"wslview", address}, windows}},
		"macOS":      {"darwin", nil, [][]string{{"open", address}}},
		"Windows":    {"windows", map[string]string{"BROWSER": `C:\browser.exe`}, [][]string{windows}},
		"the user's own": {"linux", map[string]string{"BROWSER": "firefox --new-window:chromium --app=%s"}, [][]string{
			{"firefox", "--new-window", address}, {"chromium", "--app=" + address}}},
		"the user's own, then ours": {"darwin", map[string]string{"BROWSER": ":lynx:"}, [][]string{{"lynx", address}, {"open", address}}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := browsers(c.goos, func(name string) string { return c.env[name] }, address); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestDesktopNotice(t *testing.T) {
	for name, c := range map[string]struct {
		goos string
		env  map[string]string
		want string // the program
	}{
		"a desktop":  {"linux", map[string]string{"DISPLAY": ":0"}, "notify-send"},
		"Wayland":    {"linux", map[string]string{"WAYLAND_DISPLAY": "wayland-0"}, "notify-send"},
		"no desktop": {"linux", nil, ""},
		"macOS":      {"darwin", nil, "osascript"},
	} {
		t.Run(name, func(t *testing.T) {
			command := desktopNotice(c.goos, func(name string) string { return c.env[name] }, "--help; `x`")
			switch {
			case len(command) == 0 && c.want == "":
			case command[0] != c.want || command[len(command)-1] != "--help; `x`":
				t.Errorf("%q", command)
			}
		})
	}
}

func TestShow(t *testing.T) {
	if _, err := exec.LookPath("true"); err != nil {
		t.Skip("this system has no command that only succeeds")
	}
	if runFirst([][]string{{"/nowhere/browser", "x"}, {"false"}}) {
		t.Error("a browser that cannot be started, or fails, counts as one that shows the page")
	}
	if !runFirst([][]string{{"/nowhere/browser", "x"}, {"true"}}) {
		t.Error("the next one is not tried")
	}
}
