package plan

import (
	"strconv"
	"strings"
	"time"
)

// maxSlug bounds the part of a plan id that comes from the objective.
const maxSlug = 40

// slug returns the objective's ASCII words, lower case and joined by dashes, or
// "plan" when there are none.
func slug(objective string) string {
	var b strings.Builder
	dash := false
	for _, r := range strings.ToLower(objective) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			if dash && b.Len() > 0 {
				if b.Len() == maxSlug-1 {
					break // no room for the dash and the letter
				}
				b.WriteByte('-')
			}
			b.WriteRune(r)
			dash = false
		} else {
			dash = true
		}
		if b.Len() >= maxSlug {
			break
		}
	}
	if b.Len() == 0 {
		return "plan"
	}
	return b.String()
}

// newPlanID returns <slug>-<unix seconds>, the seconds raised until no plan of s
// has the id.
func newPlanID(s State, objective string, now time.Time) string {
	base := slug(objective)
	for second := now.Unix(); ; second++ {
		id := base + "-" + strconv.FormatInt(second, 10)
		if !s.knows(id) {
			return id
		}
	}
}

func rootID(id string, version int) string {
	return strings.TrimSuffix(id, "-v"+strconv.Itoa(version))
}
