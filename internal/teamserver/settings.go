package teamserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"

	"github.com/planloop/planloop/internal/store/postgres"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/plan"
)

// Settings are a team's rules, for all workspaces or for one, where they replace the team's.
type Settings struct {
	Approvals    int                 `json:"approvals,omitzero"`      // needed from people; 0: one, without a list
	Approvers    []string            `json:"approvers,omitempty"`     // members, and groups as @name; empty: every member
	Groups       map[string][]string `json:"groups,omitempty"`        // members of each group
	HighRisk     int                 `json:"high_risk,omitzero"`      // approvals needed on top for a plan with a step of high risk
	Proof        string              `json:"proof,omitempty"`         // "passkey": each approval is signed with one
	EvidenceFrom string              `json:"evidence_from,omitempty"` // "ci": commands verify a step only in CI
	Offline      string              `json:"offline,omitempty"`       // "closed": hooks refuse changes while the server is out of reach
	Evidence     bool                `json:"evidence,omitzero"`       // a step is done only with evidence
	MaxSteps     int                 `json:"max_steps,omitzero"`      // in a plan
	MaxReplans   int                 `json:"max_replans,omitzero"`    // of a plan
	Lease        string              `json:"lease,omitempty"`         // of a claim, as 30m
	ApprovalWait string              `json:"approval_wait,omitempty"` // how long a submitted plan waits; "" for ever
	PlanningWait string              `json:"planning_wait,omitempty"` // longest planning without a sign of life; "" for an hour
	Webhook      string              `json:"webhook,omitempty"`       // is called when a plan waits for approval or was decided
}

// ParseSettings reads settings as JSON, with an error for those that cannot be met.
func ParseSettings(data []byte, members []string) (Settings, error) {
	var set Settings
	object := &set // nil after null, which would end all rules
	if err := json.Unmarshal(data, &object, json.RejectUnknownMembers(true)); err != nil || object == nil {
		return Settings{}, unreadableRule(err)
	}
	var problem error
	check := func(fits bool, format string, args ...any) {
		if !fits && problem == nil {
			problem = unfit(format, args...)
		}
	}
	for group, names := range set.Groups {
		for _, name := range names {
			check(slices.Contains(members, name), "%q in the group %s is not a member of the team; add the member first", name, group)
		}
	}
	for _, word := range []struct{ name, value, allowed string }{
		{"proof", set.Proof, "passkey"}, {"evidence_from", set.EvidenceFrom, plan.EvidenceCI}, {"offline", set.Offline, "closed"}} {
		check(word.value == "" || word.value == word.allowed, "%s is %q; use %q or nothing", word.name, word.value, word.allowed)
	}
	for name, value := range map[string]string{"lease": set.Lease, "approval_wait": set.ApprovalWait, "planning_wait": set.PlanningWait} {
		d, err := time.ParseDuration(value)
		check(value == "" || err == nil && d >= time.Minute, "%s is %q; use a time of at least a minute, such as 30m", name, value)
	}
	if set.Webhook != "" {
		_, err := parseWebhook(set.Webhook)
		problem = cmp.Or(problem, err)
	}
	check(min(set.Approvals, set.HighRisk, set.MaxSteps, set.MaxReplans) >= 0,
		"approvals, high_risk, max_steps or max_replans is negative; use 0 for the default")
	check(set.HighRisk == 0 || set.Approvals > 0, "high_risk adds to approvals, which is 0; set approvals, too")
	approvers := set.approvers()
	for _, name := range approvers {
		check(!strings.HasPrefix(name, "@"), "the group %s is not in groups, or is empty; list its members there", name)
		check(slices.Contains(members, name), "the approver %q is not a member of the team; add the member first", name)
	}
	if len(approvers) == 0 {
		approvers = members
	}
	need := set.Approvals + set.HighRisk
	check(need <= len(approvers), "%d approvals can be needed, but only %d members may give one; ask for fewer, or name more", need,
		len(approvers))
	return set, problem
}

// unreadableRule says which rule cannot be read; nil is the error of null.
func unreadableRule(err error) error {
	failed, is := errors.AsType[*json.SemanticError](err)
	switch {
	case err == nil, is && failed.JSONPointer == "":
		return unfit(`the rules are not a JSON object; write one such as {"approvals": 1}`)
	case !is:
		return unfit("the rules are not valid JSON: %s", strings.TrimPrefix(err.Error(), "jsontext: "))
	case errors.Is(err, json.ErrUnknownName):
		return unfit("%q is not a rule; check its spelling", failed.JSONPointer.LastToken())
	}
	return unfit("the rule %s has a value of the wrong kind", strings.ReplaceAll(string(failed.JSONPointer[1:]), "/", "."))
}

// Warning names the members that lack approvers for their plans; "" if none does.
func (set Settings) Warning(members []string) string {
	policy, voters := set.policy(), set.approvers()
	if policy == nil {
		return ""
	}
	if len(voters) == 0 {
		voters = members
	}
	voters = slices.DeleteFunc(slices.Clone(voters), func(name string) bool { return !slices.Contains(members, name) }) // removed since
	for _, rule := range []struct {
		plans  string
		needed int
	}{{"a plan", policy.Approvals}, {"a plan of high risk", policy.Approvals + policy.HighRisk}} {
		stuck := slices.DeleteFunc(slices.Clone(members), func(name string) bool {
			others := len(voters)
			if slices.Contains(voters, name) {
				others--
			}
			return others >= rule.needed
		})
		if len(stuck) > 0 {
			return fmt.Sprintf("%s needs %s, and none by %s can get that many: the submitter's does not count. Add approvers, "+
				"or lower the rule.", rule.plans, plan.Pluralize(rule.needed, "approval"), plan.Enumerate(stuck))
		}
	}
	return ""
}

// approvers returns the approvers with each group replaced by its members.
func (set Settings) approvers() []string {
	var names []string
	for _, name := range set.Approvers {
		group, _ := strings.CutPrefix(name, "@")
		if members := set.Groups[group]; group != name && len(members) > 0 {
			names = append(names, members...)
		} else {
			names = append(names, name) // a group without members is not a member, so the settings are refused
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// policy returns the rules for approvals, nil if one person's is enough.
func (set Settings) policy() *plan.Policy {
	if set.Approvals == 0 && set.HighRisk == 0 && len(set.Approvers) == 0 && set.Proof == "" && set.EvidenceFrom == "" {
		return nil
	}
	return &plan.Policy{Approvals: max(1, set.Approvals), Approvers: set.approvers(), HighRisk: set.HighRisk, Proof: set.Proof,
		EvidenceFrom: set.EvidenceFrom}
}

// limits returns the limits in force. A client's word for its user never counts.
func (set Settings) limits() plan.Limits {
	wait := func(text string) time.Duration {
		d, _ := time.ParseDuration(text) // checked by ParseSettings; "" is 0
		return d
	}
	return plan.Limits{Lease: wait(set.Lease), MaxSteps: set.MaxSteps, MaxReplans: set.MaxReplans, Evidence: set.Evidence,
		ApprovalTimeout: wait(set.ApprovalWait), GatheringTimeout: wait(set.PlanningWait), PersonOnly: true}
}

// rules are everything of a team that a decision about a track depends on.
type rules struct {
	settings Settings
	members  plan.Members  // not removed
	sharing  int64         // the member that is importing a history; 0: none
	number   int64         // grows with each change of these and of callers' rights
	keyed    plan.Revision // the record with the key that was asked for; 0: none
}

// readRules reads them as they are now, and finds the record with a key.
func (s *Server) readRules(ctx context.Context, t *track, key string) (r rules, err error) {
	found, err := postgres.Collect(ctx, s.db, t.Team, scanRules, rulesQuery, t.Team, t.Workspace, t.ID, key)
	if err != nil {
		return r, err
	}
	t.rules.Store(&found[0])
	return found[0], nil
}

func rulesIn(ctx context.Context, tx pgx.Tx, team, workspace int64) (rules, error) {
	rows, _ := tx.Query(ctx, rulesQuery, team, workspace, 0, "") // CollectExactlyOneRow returns its error
	return pgx.CollectExactlyOneRow(rows, scanRules)
}

const rulesQuery = `SELECT coalesce((SELECT rules FROM team WHERE id = $1), 0),
		coalesce((SELECT settings FROM policy WHERE team = $1 AND workspace IN (0, $2) ORDER BY workspace DESC LIMIT 1), '{}'),
		(SELECT coalesce(jsonb_object_agg(name, created), '{}') FROM member WHERE team = $1 AND removed IS NULL),
		coalesce((SELECT member FROM sharing WHERE track = $3), 0),
		coalesce((SELECT seq FROM record WHERE team = $1 AND track = $3 AND key = $4), 0)`

func scanRules(row pgx.CollectableRow) (r rules, err error) {
	var settings []byte
	if err := row.Scan(&r.number, &settings, &r.members, &r.sharing, &r.keyed); err != nil {
		return rules{}, err
	}
	// A newer server's rule, which this one could not keep, is an error.
	if err := json.Unmarshal(settings, &r.settings, json.RejectUnknownMembers(true)); err != nil {
		return rules{}, fmt.Errorf("the team's settings cannot be read: %w", err)
	}
	return r, nil
}

// addRules adds the team's rules to the facts of a change on the page or over MCP; decide adds its own.
func (s *Server) addRules(t *track) func(*plan.Facts) error {
	return func(facts *plan.Facts) error {
		if facts.Members != nil {
			return nil
		}
		ctx, cancel := context.WithTimeout(context.Background(), presenceWait)
		defer cancel()
		rules, err := s.readRules(ctx, t, "")
		if err == nil && rules.sharing != 0 {
			err = plan.Refuse(plan.Conflict, "", "a member is sharing this track, and its history is not complete", "wait for it")
		}
		facts.Limits, facts.Policy, facts.Members = rules.settings.limits(), rules.settings.policy(), rules.members
		return err
	}
}

func (s *Server) me(_ http.ResponseWriter, r *http.Request, c *caller) (any, error) {
	me := teamwire.Me{Team: c.teamName, Member: c.member, Machine: c.machine, Role: c.role, Format: c.format, Expires: c.expires,
		Page: s.opts.Address}
	rules, err := s.readRules(r.Context(), &track{trackIDs: trackIDs{Team: c.team}}, "")
	me.Offline = rules.settings.Offline
	return me, err
}
