// Command bench prints what planloop costs: each figure beside its floor, which
// is measured in the same run and in turn with it, so that whatever else the
// machine does hits both. It exits with 1 when a limit does not hold.
//
//	go run ./internal/bench                 # everything, about two minutes
//	go run ./internal/bench -quick          # fewer repetitions, a shorter log
//	go run ./internal/bench -only mark      # what has mark in its name
//	go run ./internal/bench -report-only    # exit 0 on a machine that is too noisy to judge
//	go run ./internal/bench -program PATH   # measure a program built before
//
// It builds planloop and the floor servers, and drives them as hosts do: as
// processes over stdio. It must not know how planloop comes by its speed.
package main
