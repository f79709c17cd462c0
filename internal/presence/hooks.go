package presence

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/lineage"
	"github.com/planloop/planloop/internal/private"
	"github.com/planloop/planloop/plan"
)

// Hook is what a command that a host calls around its agent's tools tells of itself.
type Hook struct {
	Host     string `json:"host"` // as `planloop hook` names it
	Session  string `json:"session,omitzero"`
	Subagent string `json:"subagent,omitzero"` // "" for the session's own agent
	Version  string `json:"version,omitzero"`  // of the host
	Event    string `json:"event,omitzero"`
	Judges   bool   `json:"-"` // it judges a call of a tool, which is about to be made
	// Tool is planloop's own tool that is about to be called, as the server will be asked for it. It
	// is "" for all other tools and moments, and where the hook itself refuses the call.
	Tool string `json:"-"`
}

// Sign is a sign of life of a hook.
type Sign struct {
	Hook
	At     time.Time `json:"at"`
	Judged time.Time `json:"judged,omitzero"` // the last that it judged a call of a tool: other hooks hold nobody
}

// Unseen is a call that a server got although no hook told of it, while hooks had answered before.
type Unseen struct {
	At   time.Time `json:"at"`
	Tool string    `json:"tool"`
}

// Bounds of what is kept beside the log.
const (
	keptUnseen = 16
	keptTold   = 64
	toldFor    = time.Hour // a person may be asked before a call that a hook has told of is made
	longest    = 200       // characters of a text that a host tells
)

// hooksName is the folder, beside those of the workspaces, in which hooks leave their signs: in it
// a folder for each program that has started a server, made by that server or, where it could not yet, by a hook.
const hooksName = "hooks"

// Expect makes the place for signs of the hooks of the program that has started this server, and
// removes those of programs that have long ended. It is called as soon as a server runs, before its
// workspace is known: its agent's first call has a hook already. Where nothing of planloop's is kept
// yet nothing is made: there the first hook makes the place, once its workspace has a state.
func Expect(stateHome string, starter lineage.Process) error {
	if _, err := os.Lstat(stateHome); err != nil || starter.Started == 0 {
		return nil // or there is no telling whose hooks are whose
	}
	folder := filepath.Join(stateHome, hooksName)
	entries, _ := os.ReadDir(folder) // it is made below
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && time.Since(info.ModTime()) > deadAfter && !processOf(entry.Name()).Runs() {
			_ = os.RemoveAll(filepath.Join(folder, entry.Name())) // it is tried again
		}
	}
	return errors.Join(private.Make(folder), private.Make(filepath.Join(folder, nameOf(starter))))
}

func nameOf(p lineage.Process) string {
	return strconv.Itoa(p.PID) + "-" + strconv.FormatInt(p.Started, 10)
}

func processOf(name string) lineage.Process {
	pid, started, _ := strings.Cut(name, "-")
	var p lineage.Process
	p.PID, _ = strconv.Atoi(pid)
	p.Started, _ = strconv.ParseInt(started, 10, 64)
	return p
}

// signs is the folder of the signs that the hooks of one program leave, "" for none.
type signs string

func (b *Book) signs(starter lineage.Process) signs {
	if b.hooks == "" || starter.Started == 0 {
		return ""
	}
	return signs(filepath.Join(string(b.hooks), nameOf(starter)))
}

// Answered is a sign of life of a hook, which runs at the end of the chain. It is believed, and kept,
// where the program that had the hook started is one that has started a server, with nothing but
// shells between: beneath an agent's own host. That the host stands further up says little, since
// another agent may work beneath it. It costs a look at a folder where no server has been started.
func (b *Book) Answered(chain func() []lineage.Process, h Hook) {
	if b.hooks == "" {
		return
	}
	_, none := os.Lstat(filepath.Join(filepath.Dir(string(b.hooks)), b.workspace))
	if _, err := os.Lstat(string(b.hooks)); err != nil && none != nil {
		return
	}
	folder := b.signs(lineage.Starter(chain()))
	if folder != "" && none == nil { // its server may have been started before anything was kept
		_ = errors.Join(private.Make(string(b.hooks)), private.Make(string(folder))) // as the next line sees
	}
	if folder == "" || private.Folder(string(folder)) != nil {
		return
	}
	for _, text := range []*string{&h.Host, &h.Session, &h.Subagent, &h.Version, &h.Event} {
		*text = plan.Shorten(*text, longest)
	}
	if h.Tool != "" {
		if err := folder.tell(h.Tool, h.Event, b.now()); err != nil {
			b.report("tell", h.Tool, err)
		}
	}
	var last Sign
	folder.get(b.workspace+signed, &last)
	sign := Sign{Hook: h, At: b.now().Round(0), Judged: last.Judged}
	if h.Judges {
		sign.Judged = sign.At
	}
	if err := folder.put(b.workspace+signed, sign); err != nil {
		b.report("sign", h.Host, err)
	}
}

// Called notes that this server got the call of a tool. Where a hook has answered for its host and
// its workspace, the call must have been told of.
func (b *Book) Called(tool string) {
	if b.server == nil {
		return
	}
	folder := b.signs(b.server().Starter)
	if folder == "" || !folder.has(b.workspace+signed) || b.expected(folder, tool) {
		return
	}
	var before []Unseen
	folder.get(b.workspace+unseen, &before)
	before = append(before, Unseen{b.now().Round(0), plan.Shorten(tool, longest)})
	if err := folder.put(b.workspace+unseen, before[max(0, len(before)-keptUnseen):]); err != nil {
		b.report("note", tool, err)
	}
}

// expected reports whether a hook told of a call; see signs.expected. One call looks at a time: of several that remove
// the same file at once, Windows may let each believe that it did.
func (b *Book) expected(folder signs, tool string) bool {
	b.taking.Lock()
	defer b.taking.Unlock()
	return folder.expected(tool, b.now())
}

// What stands in the folder of a program's signs: for each workspace the last sign and the calls that
// no hook told of, and a file for each call that a hook told of and that has not come yet; and for each
// server that it has started which workspace that serves.
const (
	signed = ".signed"
	unseen = ".unseen"
	told   = ".told"
	serves = ".serves"
)

// serve notes which workspace a server serves, for the hooks of the program that has started it.
func (b *Book) serve(s Server) {
	folder := b.signs(s.Starter)
	if folder == "" || !folder.has("") {
		return
	}
	if err := folder.put(b.workspace+"."+strconv.Itoa(s.Process.PID)+serves, s.Process); err != nil {
		b.report("serve", b.workspace, err)
	}
}

// ServedBeside are the state folders of other workspaces that are served by what has started this process's
// hooks: the agent may have been given a server for another directory than the one it works in.
func (b *Book) ServedBeside(chain func() []lineage.Process) []string {
	if b.hooks == "" {
		return nil
	}
	if _, err := os.Lstat(string(b.hooks)); err != nil {
		return nil
	}
	folder := b.signs(lineage.Starter(chain()))
	entries, _ := os.ReadDir(string(folder)) // most have none
	var states []string
	for _, entry := range entries {
		name, serving := strings.CutSuffix(entry.Name(), serves)
		state := strings.TrimSuffix(name, filepath.Ext(name))
		var server lineage.Process
		if !serving || state == b.workspace || folder.get(entry.Name(), &server) && !server.Runs() {
			continue // what cannot be read may be one that runs
		}
		if path := filepath.Join(filepath.Dir(string(b.hooks)), state); !slices.Contains(states, path) {
			states = append(states, path)
		}
	}
	return states
}

// tell notes that a call is about to be made. What is older than any call can be is forgotten, and
// so is the oldest where there is too much: calls that something else refuses never come.
func (f signs) tell(tool, event string, now time.Time) error {
	all := f.told("")
	for i, name := range all {
		if len(all)-i >= keptTold || now.Sub(toldAt(name)) > toldFor {
			_ = os.Remove(filepath.Join(string(f), name)) // another may have done so
		}
	}
	name := strings.Join([]string{hashed(tool), hashed(event), strconv.FormatInt(now.UnixNano(), 10), rand.Text()}, ".") + told
	file, err := private.Open(filepath.Join(string(f), name), os.O_CREATE|os.O_EXCL|os.O_WRONLY)
	if err != nil {
		return err
	}
	return file.Close()
}

// expected reports whether a hook told of a call of the tool that has not come yet, and takes it as
// come. A host may call hooks at several events before one call: one word of each is taken.
func (f signs) expected(tool string, now time.Time) bool {
	taken := map[string]bool{}
	for _, name := range f.told(hashed(tool)) {
		event, fresh := strings.Split(name, ".")[1], now.Sub(toldAt(name)) <= toldFor
		if !taken[event] && os.Remove(filepath.Join(string(f), name)) == nil && fresh { // else another call has taken it
			taken[event] = true
		}
	}
	return len(taken) > 0
}

// told are the calls of a tool, or of all, that hooks have told of, the oldest first.
func (f signs) told(tool string) []string {
	entries, _ := os.ReadDir(string(f)) // what is not there has not been told
	var names []string
	for _, entry := range entries {
		if name := entry.Name(); strings.HasSuffix(name, told) && strings.HasPrefix(name, tool) && !toldAt(name).IsZero() {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return toldAt(a).Compare(toldAt(b)) })
	return names
}

// hashed stands in the name of a file for what a host tells.
func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

func toldAt(name string) time.Time {
	parts := strings.Split(name, ".")
	if len(parts) < 3 {
		return time.Time{}
	}
	nano, _ := strconv.ParseInt(parts[2], 10, 64)
	return time.Unix(0, nano)
}

func (f signs) has(name string) bool {
	_, err := os.Lstat(filepath.Join(string(f), name))
	return err == nil
}

func (f signs) get(name string, into any) bool {
	data, err := private.Read(filepath.Join(string(f), name), maxServer)
	return err == nil && json.Unmarshal(data, into) == nil
}

// put writes a file in one step. It is not synced: after a loss of power there is no process of before.
func (f signs) put(name string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	path := filepath.Join(string(f), name)
	temporary := path + "." + rand.Text()
	if err := os.WriteFile(temporary, data, private.FileMode); err != nil {
		return err
	}
	if err := os.Rename(temporary, path); err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	return nil
}

// Heard is the last sign of life that the hooks of one program have left in one workspace.
type Heard struct {
	Sign
	State string // the name of the folder of the workspace's state
	Runs  bool   // the program does, still
}

// HeardHooks are the signs in all workspaces of a state home, the latest first. Those of a program that
// has ended are kept for about a day.
func HeardHooks(stateHome string) []Heard {
	programs, _ := os.ReadDir(filepath.Join(stateHome, hooksName)) // what is not there has not been heard
	var all []Heard
	for _, program := range programs {
		folder := signs(filepath.Join(stateHome, hooksName, program.Name()))
		files, _ := os.ReadDir(string(folder))
		for _, file := range files {
			heard := Heard{Runs: processOf(program.Name()).Runs()}
			var ok bool
			if heard.State, ok = strings.CutSuffix(file.Name(), signed); ok && folder.get(file.Name(), &heard.Sign) {
				all = append(all, heard)
			}
		}
	}
	slices.SortFunc(all, func(a, b Heard) int { return b.At.Compare(a.At) })
	return all
}
