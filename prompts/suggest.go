package prompts

// SuggestData is what the prompt suggest_tasks tells. All text is quoted as
// data; empty fields are left out.
type SuggestData struct {
	Goal     string
	Focus    string // what to look at first
	Tree     string // summary of the files in the workspace
	Tasks    []string
	Marks    []string // TODO marks and the like, each with its place
	Excerpts []Document

	// ForAgent: the text goes to an agent that adds the tasks by itself, not to a
	// model that is to answer with JSON alone.
	ForAgent bool
}

// SuggestTasks returns the prompt that looks for work that is not planned yet
// (planloop: P-3).
func SuggestTasks(d SuggestData) string {
	return mustRender("suggest_tasks", struct {
		Material []material
		ForAgent bool
	}{
		Material: present(
			section("Goal of the plan", "", quote("", "text", d.Goal, goalLimit)),
			section("Focus", "Look here first.", quote("", "text", d.Focus, goalLimit)),
			section("Existing tasks", "", quoteList(d.Tasks, maxTasks)),
			section("Files of the workspace", "", quote("", "text", d.Tree, maxTree)),
			section("Marks in the files", "", quoteList(d.Marks, maxMarks)),
			documents("Excerpts", "", d.Excerpts, maxCode),
		),
		ForAgent: d.ForAgent,
	})
}
