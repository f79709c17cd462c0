package gates_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/plan"
)

// BenchmarkCheck checks 500 tasks, each depending on the one before, with 2,000 paths, a quarter of them missing,
// against a real directory.
func BenchmarkCheck(b *testing.B) {
	var names []string
	for i := range 500 {
		for j := range 3 {
			names = append(names, fmt.Sprintf("src/mod%d/file%d.go", i, j))
		}
	}
	_, root := workspace(b, names...)
	c := gates.Candidate{Objective: "Ship it"}
	for i := range 500 {
		dir := fmt.Sprintf("src/mod%d/", i)
		task := whole(plan.StepID(i+1), fmt.Sprintf("Add field %d to the `User%d` model", i, i),
			paths(dir+"file0.go", dir+"file1.go", dir+"file2.go", fmt.Sprintf("src/new/mod%d.go", i)),
			creates(fmt.Sprintf("src/new/mod%d.go", i)), hints(fmt.Sprintf("Read `%sfile0.go` and follow `%sfile1.go`.", dir, dir)))
		if i > 0 {
			task.DependsOn = []plan.StepID{plan.StepID(i)}
		}
		c.New = append(c.New, task)
	}
	b.ReportAllocs()
	for b.Loop() {
		report, err := gates.Check(context.Background(), c, gates.Options{Files: root.FS()})
		if err != nil || !report.OK() {
			b.Fatal(err, report.Details())
		}
	}
}
