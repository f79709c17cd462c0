package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
)

// Digest identifies the parts of a plan that an approval binds: the objective, the summary and each
// binding field of the steps in their order. Hints, notes, progress and signals do not affect it.
func Digest(p *Plan) string {
	type bound struct {
		ID     StepID
		Fields [][]string // each its name and texts
	}
	form := struct {
		Objective, Summary string
		Steps              []bound
	}{Objective: p.Objective, Summary: p.Summary}
	for step := range p.Steps.All() {
		if step.Loop() != 0 {
			continue // an instance follows from its loop
		}
		if len(step.Args) > 0 && !json.Valid(step.Args) {
			return "" // equal to nothing, so never approved
		}
		form.Steps = append(form.Steps, bound{step.ID, boundFields(step, Field[Step].orderedTexts)})
	}
	return digestOf(form)
}

// StepDigest identifies the parts of a step that an approval binds, without its id, its position and the order of its dependencies.
func StepDigest(step *Step) string { return digestOf(boundFields(step, Field[Step].Texts)) }

// HasDigest reports whether digest identifies this step. In the oldest logs, the order of
// dependencies counts.
func (step *Step) HasDigest(digest string) bool {
	return digest == StepDigest(step) || digest == digestOf(boundFields(step, Field[Step].orderedTexts))
}

// boundFields returns the fields of a step that an approval binds, each as its name and texts.
func boundFields(step *Step, textsOf func(Field[Step], *Step) []string) [][]string {
	var fields [][]string
	for _, f := range SpecFields() {
		if texts := textsOf(f, step); f.Binding != Unbound && len(texts) > 0 {
			fields = append(fields, slices.Concat([]string{f.Name}, texts))
		}
	}
	return fields
}

func digestOf(form any) string {
	hash := sha256.New()
	if err := json.NewEncoder(hash).Encode(form); err != nil {
		return ""
	}
	return hex.EncodeToString(hash.Sum(nil))
}
