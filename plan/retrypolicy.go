package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// RetryPolicy says how often a step that is safe to repeat is tried in a row, and after which failures.
type RetryPolicy struct {
	Attempts int           // the first one included
	Wait     time.Duration // before the second attempt; it doubles before each further one
	On       []int64       // exit codes
	Timeout  bool          // also after a time-out
	Any      bool          // after any failure
}

// Limits of a policy.
const (
	maxRetryAttempts = 100
	maxRetryWait     = time.Hour
	maxBackOff       = 10 * time.Minute // a longer wait is not doubled
)

// ParseRetry reads a step's retry field: {"attempts": 3, "wait": "5s", "on": [75, "timeout"]}. Without "on", any failure
// counts. An empty value is the policy of a step without one (execution: Strategy 2). The error is a *ValidationError.
func ParseRetry(value json.RawMessage) (RetryPolicy, error) {
	policy := RetryPolicy{Attempts: MaxTries, Wait: time.Second, Timeout: true}
	if len(value) == 0 {
		return policy, nil
	}
	given := struct {
		Attempts *int              `json:"attempts"`
		Wait     json.RawMessage   `json:"wait"`
		On       []json.RawMessage `json:"on"`
	}{Attempts: &policy.Attempts}
	in := json.NewDecoder(bytes.NewReader(value))
	in.DisallowUnknownFields()
	if err := in.Decode(&given); err != nil {
		return policy, Refuse(InvalidInput, "", "is not a retry policy: "+Shorten(err.Error(), 120),
			`give an object such as {"attempts":3,"wait":"5s","on":[75,"timeout"]}`)
	}
	var faults Faults
	if policy.Attempts < 1 || policy.Attempts > maxRetryAttempts {
		faults.Add(Refuse(InvalidInput, "/attempts", fmt.Sprintf("%d attempts are out of range", policy.Attempts),
			fmt.Sprintf("give 1 to %d", maxRetryAttempts)))
	}
	if wait, ok := parseWait(given.Wait); ok {
		policy.Wait = wait
	} else if given.Wait != nil {
		faults.Add(Refuse(InvalidInput, "/wait", Quote(string(given.Wait))+" is not a time to wait",
			`give a time such as "5s" or "2m", at most "1h"`))
	}
	policy.Any, policy.Timeout = given.On == nil, given.On == nil
	for i, entry := range given.On {
		var code int64
		switch err := json.Unmarshal(entry, &code); {
		case string(entry) == `"timeout"`:
			policy.Timeout = true
		case err != nil || code < 1 || code > 1<<32-1:
			faults.Add(Refuse(InvalidInput, fmt.Sprintf("/on/%d", i), Quote(string(entry))+" is not an exit code of a failure",
				`give numbers from 1, or "timeout"`))
		default:
			policy.On = append(policy.On, code)
		}
	}
	return policy, faults.Err()
}

// parseWait reads a time such as "5s", or a number of seconds.
func parseWait(value json.RawMessage) (wait time.Duration, ok bool) {
	text := strings.Trim(string(value), `"`)
	if string(value) == text {
		text += "s"
	}
	wait, err := time.ParseDuration(text)
	return wait, err == nil && wait >= 0 && wait <= maxRetryWait
}

// BackOff returns the least time to wait after so many failed attempts in a row.
func (step *Step) BackOff(failures int) time.Duration {
	policy, _ := ParseRetry(step.Retry) // it was cleaned
	if len(step.Retry) == 0 {           // 1 s and 2 s
		return policy.Wait * time.Duration(failures)
	}
	wait := policy.Wait
	for range failures - 1 {
		if wait = 2 * wait; wait >= maxBackOff {
			return max(policy.Wait, maxBackOff)
		}
	}
	return wait
}

// covers reports whether the policy asks for another attempt after a failed one.
func (p RetryPolicy) covers(d AttemptResult) bool {
	switch {
	case d.IsTransient:
		return true
	case d.IsTimedOut:
		return p.Timeout
	case d.IsInterrupted: // from outside; its own failure is not known
		return true
	}
	return p.Any || slices.Contains(p.On, int64(d.ExitCode))
}
