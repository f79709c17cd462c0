package mcpserver_test

import (
	"flag"
	"regexp"
)

func updateGolden() bool { return flag.Lookup("update").Value.String() == "true" }

var (
	planIDs    = regexp.MustCompile(`-1[0-9]{9}\b`)
	timestamps = regexp.MustCompile(`20[0-9]{2}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+(Z| UTC)?`)
)

// withoutTimes replaces text that differs from run to run.
func withoutTimes(s string) string {
	return timestamps.ReplaceAllString(planIDs.ReplaceAllString(s, "-UNIX"), "TIME")
}
