package presence

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/plan"
)

// Hook is the report of a command that a host calls around its agent's tools.
type Hook struct {
	Host       string `json:"host"` // as `planloop hook` names it
	Session    string `json:"session,omitzero"`
	Subagent   string `json:"subagent,omitzero"` // "" for the session's own agent
	Version    string `json:"version,omitzero"`  // of the host
	Event      string `json:"event,omitzero"`
	ChecksTool bool   `json:"-"` // it checks a tool call that is about to be made
	// Tool is planloop's own tool that is about to be called, under its server's name for it. It is "" for other tools
	// and events, and if the hook itself refuses the call.
	Tool string `json:"-"`
	Call CallID `json:"-"` // of that call
	// Creates says that the call may create the state, which need not exist yet.
	Creates bool `json:"-"`
}

// CallID tells the calls of one tool apart, as far as host and client give the same.
type CallID struct {
	Use       string // the host's id of the call; "" if it gives none
	Arguments string // their fingerprint
}

// Sign is a sign of life of a hook.
type Sign struct {
	Hook
	At          time.Time `json:"at"`
	ToolChecked time.Time `json:"judged,omitzero"` // when it last checked a tool call: other hooks enforce nothing
}

// Unseen is a call that a server got without a hook's report before it.
type Unseen struct {
	At   time.Time `json:"at"`
	Tool string    `json:"tool"`
	Late time.Time `json:"late,omitzero"` // when a report came after the call; zero if none did
}

// Bounds of the data kept next to the log.
const (
	maxUnseen    = 16
	maxAnnounced = 64
	announcedFor = time.Hour       // a person may be asked between a hook's report and the call
	lateFor      = 2 * time.Second // longer, and an agent may have called again
	maxText      = 200             // characters of a text from a host
)

// hooksName is the folder, next to those of the workspaces, for signs of hooks. It has a folder for each program that
// has started a server, made by that server or, if it could not yet, by a hook.
const hooksName = "hooks"

// PrepareHooks makes the folder for the hooks of the program that started this server, and removes folders of programs that
// ended more than a day ago. It is called as soon as a server runs, before its workspace is known, because its agent's
// first call already has a hook. If planloop has no data yet, it makes nothing: the first hook does once its workspace
// has a state.
func PrepareHooks(stateHome string, starter process.Ancestor) error {
	if _, err := os.Lstat(stateHome); err != nil || starter.Started == 0 {
		return nil // without a starter, hooks cannot be matched
	}
	folder := filepath.Join(stateHome, hooksName)
	entries, _ := os.ReadDir(folder) // created below if missing
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && time.Since(info.ModTime()) > deadAfter && !processOf(entry.Name()).Runs() {
			_ = os.RemoveAll(filepath.Join(folder, entry.Name())) // retried next time
		}
	}
	return errors.Join(safefile.MakeFolder(folder), safefile.MakeFolder(filepath.Join(folder, nameOf(starter))))
}

func nameOf(p process.Ancestor) string {
	return strconv.Itoa(p.PID) + "-" + strconv.FormatInt(p.Started, 10)
}

func processOf(name string) process.Ancestor {
	var p process.Ancestor
	_, _ = fmt.Sscanf(name, "%d-%d", &p.PID, &p.Started) // another name is no process
	return p
}

// hookFolder returns the folder for the signs of the hooks that a program starts, "" if it is unknown.
func (b *Registry) hookFolder(starter process.Ancestor) folder {
	if b.hooks == "" || starter.Started == 0 {
		return ""
	}
	return folder(filepath.Join(string(b.hooks), nameOf(starter)))
}

// RecordHook records a sign of life of a hook at the end of chain. The sign counts only if the program that had the hook
// started has also started a server, with only shells between: then the hook runs below an agent's own host. A host
// further up proves little, because another agent may work below it. Without any server it costs one look at a folder.
func (b *Registry) RecordHook(chain func() []process.Ancestor, h Hook) {
	if b.hooks == "" {
		return
	}
	home := filepath.Dir(string(b.hooks))
	if h.Creates {
		_ = safefile.MakeFolder(home) // the next lines check the result
	}
	_, none := os.Lstat(filepath.Join(home, b.workspace))
	if h.Creates {
		_, none = os.Lstat(home)
	}
	if _, err := os.Lstat(string(b.hooks)); err != nil && none != nil {
		return
	}
	folder := b.hookFolder(process.Starter(chain()))
	if folder != "" && none == nil { // its server may have started before there was any data
		_ = errors.Join(safefile.MakeFolder(string(b.hooks)), safefile.MakeFolder(string(folder))) // the next line checks the result
	}
	if folder == "" || safefile.CheckFolder(string(folder)) != nil {
		return
	}
	for _, text := range []*string{&h.Host, &h.Session, &h.Subagent, &h.Version, &h.Event} {
		*text = plan.Shorten(*text, maxText)
	}
	if h.Tool != "" && b.isLate(folder, h.Tool) {
		h.ChecksTool = false // the host did not wait for this hook
	} else if h.Tool != "" {
		if err := folder.announceCall(h, b.now()); err != nil {
			b.report("tell", h.Tool, err)
		}
	}
	if h.Subagent != "" {
		_ = create(filepath.Join(string(folder), subagentFile), 0) // the next call tries again
	}
	var last Sign
	folder.get(b.workspace+signSuffix, &last)
	sign := Sign{Hook: h, At: b.now().Round(0), ToolChecked: last.ToolChecked}
	if h.ChecksTool {
		sign.ToolChecked = sign.At
	}
	if err := folder.put(b.workspace+signSuffix, sign); err != nil {
		b.report("sign", h.Host, err)
	}
}

// SeesSubagents reports whether the program that started the hook at the end of chain has called one in a subagent.
func (b *Registry) SeesSubagents(chain []process.Ancestor) bool {
	return b.hookFolder(process.Starter(chain)).has(subagentFile)
}

const subagentFile = "subagent" // marks a program whose hooks were called in a subagent

// isLate reports whether a report of a call comes after the call, as that of an asynchronous hook may, and notes it.
func (b *Registry) isLate(f folder, tool string) bool {
	var before []Unseen
	f.get(b.workspace+unseenSuffix, &before)
	i := slices.IndexFunc(before, func(u Unseen) bool { return u.Tool == tool && u.Late.IsZero() && b.now().Sub(u.At) < lateFor })
	if i < 0 {
		return false
	}
	before[i].Late = b.now().Round(0)
	if err := f.put(b.workspace+unseenSuffix, before); err != nil {
		b.report("note", tool, err)
	}
	return true
}

// Called records that this server got a call of a tool. A hook must have reported the call before. It returns the session that the
// report names, "" if none does or if sessions have reported calls that look alike.
func (b *Registry) Called(tool string, id CallID) (session string) {
	if b.server == nil {
		return ""
	}
	folder := b.hookFolder(b.server().Starter)
	if folder == "" || !folder.has("") || !folder.has(b.workspace+signSuffix) && b.isNoted(tool) {
		return ""
	}
	b.mu.Lock() // if several calls remove the same file at once, Windows may let each believe that it did
	session, isExpected := folder.takeCall(tool, id, b.now())
	b.mu.Unlock()
	if isExpected {
		return session
	}
	var before []Unseen
	folder.get(b.workspace+unseenSuffix, &before)
	before = append(before, Unseen{At: b.now().Round(0), Tool: plan.Shorten(tool, maxText)})
	if err := folder.put(b.workspace+unseenSuffix, before[max(0, len(before)-maxUnseen):]); err != nil {
		b.report("note", tool, err)
	}
	return ""
}

// isNoted reports whether a call of the tool was noted so recently that a late report is found by it. Most hosts without hooks call
// often, and a note costs as much as the call.
func (b *Registry) isNoted(tool string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.now().Sub(b.noted[tool]) < lateFor {
		return true
	}
	if b.noted == nil || len(b.noted) >= maxAnnounced {
		b.noted = map[string]time.Time{}
	}
	b.noted[tool] = b.now()
	return false
}

// Files in the folder of a program's signs: per workspace the last sign and the unreported calls, a file for each
// reported call that has not arrived yet, and per server that the program has started the workspace it serves.
const (
	signSuffix   = ".signed"
	unseenSuffix = ".unseen"
	callSuffix   = ".told"
	serverSuffix = ".serves"
)

// OtherStates returns the state folders of other workspaces served by the program that started this process's hooks:
// the agent's server may be for another directory than the one it works in.
func (b *Registry) OtherStates(chain func() []process.Ancestor) []string {
	if b.hooks == "" {
		return nil
	}
	if _, err := os.Lstat(string(b.hooks)); err != nil {
		return nil
	}
	folder := b.hookFolder(process.Starter(chain()))
	entries, _ := os.ReadDir(string(folder)) // most have none
	var states []string
	for _, entry := range entries {
		name, serving := strings.CutSuffix(entry.Name(), serverSuffix)
		state := strings.TrimSuffix(name, filepath.Ext(name))
		var server process.Ancestor
		if !serving || state == b.workspace || folder.get(entry.Name(), &server) && !server.Runs() {
			continue // an unreadable one may run
		}
		if path := filepath.Join(filepath.Dir(string(b.hooks)), state); !slices.Contains(states, path) {
			states = append(states, path)
		}
	}
	return states
}

// announceCall records that a call is about to be made, in a file that contains the session. Records older than any call are removed,
// and so are the oldest if there are too many: calls refused by something else never arrive.
func (f folder) announceCall(h Hook, now time.Time) error {
	all := f.announcedCalls("")
	for i, name := range all {
		if len(all)-i >= maxAnnounced || now.Sub(announcedAt(name)) > announcedFor {
			_ = os.Remove(filepath.Join(string(f), name)) // another process may have done so
		}
	}
	name := strings.Join([]string{hashText(h.Tool), hashText(h.Event), strconv.FormatInt(now.UnixNano(), 10), hashText(h.Call.Use),
		hashText(h.Call.Arguments), rand.Text()}, ".") + callSuffix
	file, err := safefile.Open(filepath.Join(string(f), name), os.O_CREATE|os.O_WRONLY|os.O_EXCL)
	if err != nil {
		return err
	}
	_, err = file.WriteString(h.Session)
	return errors.Join(err, file.Close())
}

// takeCall reports whether a hook reported a call of the tool that has not arrived yet, and marks it as arrived. A host
// may call hooks at several events before one call: one report of each event is taken. The call's own reports come first: those with
// its id, else those with its arguments. session is the one that all of these name.
func (f folder) takeCall(tool string, id CallID, now time.Time) (session string, isReported bool) {
	all := f.announcedCalls(hashText(tool))
	own := withPart(all, callUse, id.Use)
	if len(own) == 0 {
		own = withPart(all, callArguments, id.Arguments)
	}
	session = f.sessionOf(own)
	if len(own) > 0 {
		all = own
	}
	taken := map[string]bool{}
	for _, name := range all {
		event, fresh := strings.Split(name, ".")[1], now.Sub(announcedAt(name)) <= announcedFor
		if !taken[event] && os.Remove(filepath.Join(string(f), name)) == nil && fresh { // else another call has taken it
			taken[event] = true
		}
	}
	return session, len(taken) > 0
}

// sessionOf returns the session that all of the reported calls name. If they name several, none can be told to be of this call, nor
// can those left of a later one: then they name none from now on.
func (f folder) sessionOf(calls []string) (session string) {
	for i, name := range calls {
		text, _ := safefile.Read(filepath.Join(string(f), name), 4*maxText) // another process may have taken it
		if i > 0 && string(text) != session {
			for _, name := range calls {
				_ = os.Truncate(filepath.Join(string(f), name), 0)
			}
			return ""
		}
		session = string(text)
	}
	return session
}

// Parts of the name of a reported call.
const (
	callUse       = 3
	callArguments = 4
)

// withPart returns the reported calls with that text's hash in a part of the name; none for "".
func withPart(names []string, part int, text string) (found []string) {
	for _, name := range names {
		if parts := strings.Split(name, "."); text != "" && len(parts) > part && parts[part] == hashText(text) {
			found = append(found, name)
		}
	}
	return found
}

// announcedCalls lists the reported calls of a tool, or of all tools, the oldest first.
func (f folder) announcedCalls(tool string) []string {
	entries, _ := os.ReadDir(string(f)) // a missing folder has no reports
	var names []string
	for _, entry := range entries {
		if name := entry.Name(); strings.HasSuffix(name, callSuffix) && strings.HasPrefix(name, tool) && !announcedAt(name).IsZero() {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return announcedAt(a).Compare(announcedAt(b)) })
	return names
}

// hashText replaces a host's text in the name of a file.
func hashText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

func announcedAt(name string) time.Time {
	parts := strings.Split(name, ".")
	if len(parts) < 3 {
		return time.Time{}
	}
	nano, _ := strconv.ParseInt(parts[2], 10, 64)
	return time.Unix(0, nano)
}

// HookSign is the last sign of life from one program's hooks in one workspace.
type HookSign struct {
	Sign
	State string // the name of the workspace's state folder
	Runs  bool   // the program still runs
}

// HookSigns returns the signs in all workspaces of a state home, the latest first. Those of an ended program are kept
// for about a day.
func HookSigns(stateHome string) []HookSign {
	programs, _ := os.ReadDir(filepath.Join(stateHome, hooksName)) // a missing folder has no signs
	var all []HookSign
	for _, program := range programs {
		signs := folder(filepath.Join(stateHome, hooksName, program.Name()))
		files, _ := os.ReadDir(string(signs))
		for _, file := range files {
			heard := HookSign{Runs: processOf(program.Name()).Runs()}
			var ok bool
			if heard.State, ok = strings.CutSuffix(file.Name(), signSuffix); ok && signs.get(file.Name(), &heard.Sign) {
				all = append(all, heard)
			}
		}
	}
	slices.SortFunc(all, func(a, b HookSign) int { return b.At.Compare(a.At) })
	return all
}

// IsFirst reports whether a session has not got a notice yet, and records that it gets it now. If that cannot be
// recorded, it reports false, so that nothing is repeated forever.
func (b *Registry) IsFirst(session, what string) bool {
	if b.notices == "" {
		return false
	}
	err := b.notices.make()
	if err == nil {
		err = create(b.notices.seen(session+"\x00"+what), os.O_EXCL)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		b.report("record a notice", session, err)
	}
	return err == nil
}
