package prompts

// JudgeData is what the prompt judge_plan tells. All text is quoted as data.
type JudgeData struct {
	Goal     string
	Tasks    string   // the tasks, JSON
	Findings []string // of the gates that need no model

	// ForAgent: the text goes to an agent that hands the verdict in by itself, not
	// to a model that is to answer with JSON alone.
	ForAgent bool
}

// Judge returns the prompt that asks for a verdict on a plan (planloop: P-2). A
// plan too long to be shown whole is not to be approved.
func Judge(d JudgeData) string {
	tasks := quote("", "json", d.Tasks, maxJudgedTasks)
	return mustRender("judge_plan", struct {
		Material      []material
		Cut, ForAgent bool
	}{
		Material: present(
			section("Goal", "", quote("", "text", d.Goal, goalLimit)),
			section("Findings of the automatic checks", "", quoteList(d.Findings, maxFindings)),
			section("Tasks", "", tasks),
		),
		Cut: tasks != nil && tasks.Cut != "", ForAgent: d.ForAgent,
	})
}
