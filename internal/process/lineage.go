package process

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Lineage is what a system tells about the origin of a process and of its terminal.
type Lineage struct {
	Chain      []Ancestor // the process, its parent and so on, without process 1; empty if the look-up failed
	NoTable    bool       // planloop cannot look up processes on this system
	Top        int        // the parent of the chain's last: 1, 0 at the edge of a container, -1 if it cannot be found
	Leader     int        // pid of the leader of its session, 0 outside its pid namespace; -1 if the system has no such leaders
	Hidden     Ancestor   // an ancestor of the same user that hides its environment; zero if none
	Space      string     // where its numbers are valid, as Space
	SeesAll    bool       // no process of the machine is outside its pid namespace
	InOwnSpace bool       // its user made the pid namespace without an administrator's help
}

// IsWhole reports whether the chain has all ancestors. Windows keeps no parents that have ended.
func (l Lineage) IsWhole() bool {
	last := len(l.Chain) - 1
	return last >= 0 && (l.Top >= 0 || l.Leader < 0 && !l.Chain[last].Shell() && l.Chain[last].Shared())
}

// Opener returns the program that opened the terminal of this process, if people use it for that. A terminal within another one counts as
// that one. It returns ok also for the command of a container. A program that has left its ancestors and opens a terminal gives none.
func (l Lineage) Opener() (opener Ancestor, ok bool) {
	session := l.Leader
	for i, p := range l.Chain {
		if p.PID != session {
			continue
		}
		above := append(l.Chain[i+1:len(l.Chain):len(l.Chain)], Ancestor{}, Ancestor{})
		switch opener = above[0]; {
		case opener.PID == 0:
			return Ancestor{}, l.Top == 0 || p.isRelay()
		case opener.isRelay(), opener.isOneOf(openers, multiplexers) && !opener.claims, above[1].isOneOf(desktops):
			return opener, true
		}
		session = opener.Session
	}
	return Ancestor{}, l.Leader < 0 || l.Leader == 1
}

// isRelay reports whether p is the part of WSL that has a terminal of Windows.
func (p Ancestor) isRelay() bool { return p.Name == "init" && p.PID > 1 }

// Find returns the first ancestor that is not shared and for which is returns true.
func (l Lineage) Find(is func(Ancestor) bool) (Ancestor, bool) {
	for _, p := range l.Chain[min(1, len(l.Chain)):] {
		if !p.Shared() && is(p) {
			return p, true
		}
	}
	return Ancestor{}, false
}

// IsOurs reports whether p is a planloop.
func (p Ancestor) IsOurs() bool { return strings.HasPrefix(p.Name, "planloop") }

// IsAgent reports whether p is an agent's program.
func (p Ancestor) IsAgent() bool { return p.isOneOf(agents) }

// Scheduled reports whether a program such as cron started the process.
func (l Lineage) Scheduled() bool {
	return slices.ContainsFunc(l.Chain, func(p Ancestor) bool { return p.isOneOf(schedulers) })
}

// Multiplexer returns the name of the first ancestor whose terminals other programs can read, "" if none.
func (l Lineage) Multiplexer() string {
	for _, p := range l.Chain {
		if p.isOneOf(multiplexers, "nvim") || strings.HasPrefix(p.Name, "wezterm") {
			return p.Name
		}
	}
	return ""
}

// accuracy is that of a start time compared with a file's time.
const accuracy = time.Second

// IsCopy reports whether the program of p was written after another process began: a copy under another name.
// Only Linux can tell.
func (p Ancestor) IsCopy(since Ancestor) bool {
	at, written := beganAt(since), writtenAt(p)
	return !at.IsZero() && p.Started > since.Started && written.After(at.Add(accuracy))
}

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
func Ancestors() []Ancestor { return AncestorsOf(os.Getpid()) }

// AncestorsOf returns a process, its parent and so on, without process 1.
func AncestorsOf(pid int) []Ancestor { return chain(pid, processFinder()) }

// Peer returns the process that has connected a unix socket, if the system reveals it and it runs. Its pid may have been reused since.
func Peer(conn *net.UnixConn) (p Ancestor, ok bool) {
	pid := 0
	raw, err := conn.SyscallConn()
	if err == nil {
		err = raw.Control(func(socket uintptr) { pid = peer(int(socket)) })
	}
	if err == nil && pid > 0 {
		p, _, ok = processFinder()(pid)
	}
	return p, ok
}

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

// Identity identifies a command and everything it starts, so that another process can find them after the one that
// started it is gone. Its JSON may be stored. It never matches another process that has since got the same number, even
// after a reboot.
//
// On Linux a process is recognized by the mark in its environment, its ancestors and its session: one that removed its
// mark is lost once it has left its session and its keeper is gone. On macOS the family is lost once the command itself
// is gone; on Windows a command ends with the process that started it. On other systems nothing is found.
type Identity struct {
	World string `json:"world,omitempty"` // the boot and PID namespace in which the numbers are valid
	Mark  string `json:"mark,omitempty"`  // the value in its environment
	Pid   int    `json:"pid"`             // of its keeper, or of the command if it has no keeper
	Start string `json:"start,omitempty"` // when that process began, in the system's format; "" if unknown
}

// Here reports whether its numbers are valid for this process. If not, its descendants cannot be recognized.
func (id Identity) Here() bool { return id.World == Space() }

// In reports whether a chain of processes contains the keeper or the command itself. A process that the command has
// started is found while the processes between them run; with a keeper, always.
func (id Identity) In(chain []Ancestor) bool {
	return id.Start != "" && id.World == Space() && slices.ContainsFunc(chain, func(p Ancestor) bool {
		return p.PID == id.Pid && strconv.FormatInt(p.Started, 10) == id.Start
	})
}
