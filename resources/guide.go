package resources

import (
	"strings"
	"sync"
)

// guide is made once: nothing in it varies.
var guide = sync.OnceValue(func() string {
	return text("guide.md", struct{ Fence, Spec, Payload string }{
		Fence:   "```",
		Spec:    strings.TrimSpace(embedded("spec.md")),
		Payload: strings.TrimSpace(embedded("payload.json")),
	})
})

// PlanningGuide returns the planning guide (planloop: Part 3): what makes a good
// task, how to refine a plan, what the gates check, and a worked example. It is
// Markdown that ends with a newline.
func PlanningGuide() string { return guide() }

// GuideExample returns the example of the planning guide: the files of the
// workspace it assumes, by path, and the payload of the update that adds the
// tasks to a plan whose only task so far asks for them. The caller owns both.
func GuideExample() (files map[string]string, payload []byte) {
	return map[string]string{
		"spec.md": embedded("spec.md"),
		"go.mod":  embedded("go.mod.txt"),
		"main.go": embedded("main.go.txt"),
	}, []byte(embedded("payload.json"))
}
