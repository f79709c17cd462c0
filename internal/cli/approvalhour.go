package cli

import (
	"path/filepath"
	"slices"
	"time"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
)

// approvalHour remembers for an hour that the shell of this terminal had the code of an approval typed. A nil *approvalHour remembers
// nothing. The file is sealed, so that only a program that reads the user's key can write an hour.
type approvalHour struct {
	path   string
	sealer *mcpserver.Sealer
	shell  trustedShell
	all    []trustedShell // in the file, without expired ones
}

// trustedShell is the shell in which a code was typed. A process keeps its terminal, and its pid and start are unique until a reboot.
type trustedShell struct {
	Space string           `json:"space"` // where the pid is valid
	Shell process.Ancestor `json:"shell"`
	Until time.Time        `json:"until"`
}

const (
	approvalHourName = "terminals" // also the purpose of the seal
	maxApprovalHours = 64 << 10    // bytes
	codeHolds        = time.Hour
)

// approvalHour returns nil if each approval needs a code: where only a person's own decision counts, on a shared terminal, and if planloop
// was not started by a shell of the same session.
func (a *app) approvalHour(ws *openWorkspace, state plan.State) *approvalHour {
	if ws.verbs.PersonOnly(state) || a.sharedTerminal() != "" || a.flags.ephemeral {
		return nil
	}
	return openApprovalHour(ws.place.StateHome(), a.lineage(), time.Now())
}

func openApprovalHour(home string, l process.Lineage, now time.Time) *approvalHour {
	if len(l.Chain) < 2 {
		return nil
	}
	self, shell := l.Chain[0], l.Chain[1]
	if !shell.Shell() || shell.Started == 0 || shell.Session != self.Session {
		return nil
	}
	sealer, err := mcpserver.OpenSealer(home)
	if err != nil {
		return nil
	}
	h := &approvalHour{path: filepath.Join(home, approvalHourName), sealer: sealer,
		shell: trustedShell{Space: l.Space, Shell: shell, Until: now.Add(codeHolds)}}
	token, _ := safefile.Read(h.path, maxApprovalHours) // a missing file remembers nothing, nor does a forged one
	if sealer.UnsealAs(approvalHourName, string(token), maxApprovalHours, &h.all) != nil {
		h.all = nil
	}
	h.all = slices.DeleteFunc(h.all, func(s trustedShell) bool { return s.Until.Before(now) || s.Until.After(h.shell.Until) })
	return h
}

// holds reports whether the code was typed in this shell within the hour.
func (h *approvalHour) holds() bool {
	return h != nil && slices.ContainsFunc(h.all, func(s trustedShell) bool {
		return s.Space == h.shell.Space && s.Shell.Is(h.shell.Shell)
	})
}

// begin begins the hour after an approval with a code; later ones do not extend it. Unless it can be written, the next approval needs a
// code.
func (h *approvalHour) begin(decision string) {
	if h == nil || decision != "approve" || h.holds() {
		return
	}
	if token, err := h.sealer.SealAs(approvalHourName, append(h.all, h.shell)); err == nil {
		_ = safefile.WriteFile(h.path, []byte(token), safefile.Options{Mode: safefile.FileMode})
	}
}
