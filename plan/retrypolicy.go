package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
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
	MaxRetryAttempts = 100
	MaxRetryWait     = time.Hour
	maxBackOff       = 10 * time.Minute // a longer wait is not doubled
)

// defaultRetry is the policy of a step without one (execution: Strategy 2).
func defaultRetry() RetryPolicy {
	return RetryPolicy{Attempts: MaxTries, Wait: time.Second, Timeout: true}
}

// ParseRetry reads a step's retry field: {"attempts": 3, "wait": "5s", "on": [75, "timeout"]}. Without "on", any failure
// counts. The error is a *ValidationError.
func ParseRetry(value json.RawMessage) (RetryPolicy, error) {
	policy := defaultRetry()
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
	if policy.Attempts < 1 || policy.Attempts > MaxRetryAttempts {
		faults.Add(Refuse(InvalidInput, "/attempts", fmt.Sprintf("%d attempts are out of range", policy.Attempts),
			fmt.Sprintf("give 1 to %d", MaxRetryAttempts)))
	}
	if given.Wait != nil {
		var err error
		if policy.Wait, err = parseWait(given.Wait); err != nil || policy.Wait < 0 || policy.Wait > MaxRetryWait {
			faults.Add(Refuse(InvalidInput, "/wait", Quote(string(given.Wait))+" is not a time to wait",
				`give a time such as "5s" or "2m", at most "1h"`))
		}
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
func parseWait(value json.RawMessage) (time.Duration, error) {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return time.ParseDuration(text)
	}
	var seconds float64
	err := json.Unmarshal(value, &seconds)
	return time.Duration(min(seconds, 2*MaxRetryWait.Seconds()) * float64(time.Second)), err
}

// RetryPolicy returns the policy of the step; one that cannot be read counts as none.
func (step *Step) RetryPolicy() RetryPolicy {
	policy, err := ParseRetry(step.Retry)
	if err != nil {
		return defaultRetry()
	}
	return policy
}

// BackOff returns the least time to wait after so many failed attempts in a row.
func (step *Step) BackOff(failures int) time.Duration {
	policy := step.RetryPolicy()
	if len(step.Retry) == 0 { // 1 s and 2 s
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
