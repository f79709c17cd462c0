package process

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Ancestor identifies one process. A pid is reused, but not together with the same start time.
type Ancestor struct {
	PID     int    `json:"pid"`
	Started int64  `json:"started"`       // in the system's own unit; 0 if unknown
	Name    string `json:"name,omitzero"` // of its program, in lower case, without version and .exe
	Session int    `json:"-"`             // leader of its session, if that has a terminal; 0 otherwise
	claims  bool   // it hides its program, and may have made up the name
}

// Is reports whether both are the same process.
func (p Ancestor) Is(other Ancestor) bool {
	return p.Started != 0 && p.PID == other.PID && p.Started == other.Started
}

// Runs reports whether the process still runs.
func (p Ancestor) Runs() bool {
	now, _, ok := processFinder()(p.PID)
	return ok && p.Is(now)
}

// Args returns the arguments that a process was started with, without the program; nil if they are unknown.
func (p Ancestor) Args() []string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/cmdline")
	if err != nil && runtime.GOOS == "darwin" {
		text, err = exec.Command("ps", "-o", "args=", "-p", strconv.Itoa(p.PID)).Output()
		text = bytes.ReplaceAll(text, []byte(" "), []byte{0}) // words of a prompt may count as arguments
	}
	if err != nil || p.Started == 0 {
		return nil
	}
	return strings.Split(strings.TrimRight(string(text), "\x00\n"), "\x00")[1:]
}

// Variables holds the variables that a process was started with, each ended by a NUL. Later changes are not visible.
// Only Linux provides it, and only for the user's own processes that do not hide it.
type Variables []byte

// VariablesOf returns the environments of all processes in a chain except its first, the nearest first.
func VariablesOf(chain []Ancestor) (above []Variables) {
	for _, p := range chain[min(1, len(chain)):] {
		above = append(above, variablesOf(p.PID))
	}
	return above
}

// First returns the first entry of e for one of the variables that is not empty, else "".
func (e Variables) First(variables ...string) (name, value string) {
	for entry := range bytes.SplitSeq(e, []byte{0}) {
		name, value, _ := bytes.Cut(entry, []byte("="))
		if len(value) > 0 && slices.Contains(variables, string(name)) {
			return string(name), string(value)
		}
	}
	return "", ""
}

// look finds a process and its parent's pid.
type look func(pid int) (p Ancestor, parent int, ok bool)

// Ancestors returns this process, its parent, the parent's parent and so on, without process 1.
func Ancestors() []Ancestor { return chain(os.Getpid(), processFinder()) }

const longest = 64

func chain(pid int, find look) []Ancestor {
	var all []Ancestor
	for pid > 1 && len(all) < longest {
		p, parent, ok := find(pid)
		if !ok || len(all) > 0 && p.Started > all[len(all)-1].Started {
			break // it began after its child: the parent is gone and its pid reused
		}
		all = append(all, p)
		pid = parent
	}
	return all
}

// Shared reports whether both people and agents start processes below p, so that descending from it proves nothing: a
// session manager, a shell, a terminal, an editor.
func (p Ancestor) Shared() bool {
	return p.PID <= 1 || p.Name == "" || p.isOneOf(shells, managers, desktops, openers, multiplexers, screenEditors)
}

func (p Ancestor) isOneOf(lists ...string) bool {
	return slices.ContainsFunc(lists, func(list string) bool { return slices.Contains(strings.Fields(list), p.Name) })
}

// Shell reports whether p only runs commands given by others.
func (p Ancestor) Shell() bool { return p.isOneOf(shells) }

// Starter returns the nearest process above the first of a chain that is not a shell: the program that had the first
// one started. It returns the zero value if that is unknown.
func Starter(chain []Ancestor) Ancestor {
	for i, p := range chain {
		if i > 0 && !p.Shell() {
			return p
		}
	}
	return Ancestor{}
}

const shells = `sh ash bash dash rbash zsh fish ksh mksh tcsh csh nu elvish xonsh osh oil pwsh powershell cmd busybox toybox`

// managers start programs of all kinds, also such as have lost their parent.
const managers = `init systemd launchd upstart runit runsvdir supervisord tini dumb-init docker-init catatonit dockerd
	su sudo doas runuser system taskeng ` + schedulers

// schedulers start programs at set times, without a person.
const schedulers = `cron crond atd anacron fcron`

// desktops start terminal programs, also such as planloop does not know.
const desktops = `loginwindow xinit xorg xwayland gdm-session-worker gnome-session-binary gnome-session gnome-shell kwin_wayland
	kwin_x plasmashell sway hyprland i awesome bspwm dwm openbox xmonad niri river labwc cosmic-session cosmic-comp xfce4-session
	cinnamon mate-session lxqt-session finder dock explorer services svchost wininit winlogon userinit sihost conhost openconsole`

// openers open terminals for people: remote logins, containers, terminals, editors.
const openers = `sshd sshd-session sshd-auth dropbear mosh-server et etserver telnetd login agetty getty cockpit-bridge
	conmon containerd-shim containerd-shim-runc-v flatpak-session-helper

	xterm uxterm urxvt urxvtd rxvt rxvt-unicode st stterm lxterm dolphin kate kdevelop app_process vshd gnome-terminal-server
	gnome-terminal kgx ptyxis ptyxis-agent konsole yakuake kitty alacritty foot footclient ghostty rio contour cosmic-term
	xfce4-terminal mate-terminal lxterminal qterminal terminology tilix tilda guake terminator sakura roxterm deepin-terminal
	cool-retro-term mlterm eterm blackbox io.elementary.terminal termux warp warp-terminal stable tabby hyper wave waveterm
	extraterm terminal iterm iterm-server itermserver windowsterminal mintty conemuc

	code code-insiders code-oss code-server code-tunnel codium vscodium cursor windsurf trae kiro antigravity zed zed-editor
	zeditor electron sublime_text atom emacs emacs-gtk emacs-nox emacs-lucid emacs-pgtk
	idea goland pycharm webstorm clion rider phpstorm rubymine rustrover studio eclipse xcode devenv
	wezterm wezterm-gui wezterm-mux-server remote-dev-server`

// screenEditors run in terminals and open terminals in themselves, which count as the one around them: any script can start them without.
const screenEditors = `vi vim vim.basic vim.gtk vim.nox vim.tiny nvim neovim helix hx`

// agents are programs of agents' hosts, below which no person has a terminal.
const agents = `claude codex opencode gemini goose agy cursor-agent copilot crush aider amp droid auggie qwen`

// multiplexers let programs of the same user read their terminals and type into them.
const multiplexers = `tmux screen zellij tmate dtach abduco ttyd`

// programName normalizes a program's file name: -zsh, bash-5.2, Code.exe.
func programName(file string) string {
	name := strings.TrimSuffix(strings.ToLower(strings.TrimSuffix(file, " (deleted)")), ".exe")
	name, _, _ = strings.Cut(strings.TrimSuffix(name, "-wrapped"), " helper") // by Nix; of an editor on macOS
	return strings.Trim(name, "-.0123456789")
}
