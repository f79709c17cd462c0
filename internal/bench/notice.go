package main

import (
	"context"
	"fmt"
	"time"
)

const (
	noticeLimit   = 5 * time.Millisecond
	noticePatient = 5 * time.Second
)

// measureNotice times how another process's change reaches a client that has
// subscribed: from the call that makes it to the notification, and from the
// answer to that call.
func measureNotice(ctx context.Context, b *bench) ([]figure, error) {
	place, err := b.workspace(ctx, "notice", fewSteps, 1)
	if err != nil {
		return nil, err
	}
	subscriber, err := b.serve(ctx, place.Path, "subscriber")
	if err != nil {
		return nil, err
	}
	defer subscriber.close()
	if _, err := subscriber.request("resources/subscribe", map[string]any{"uri": "plan://current"}); err != nil {
		return nil, err
	}
	writer, err := b.serve(ctx, place.Path, "writer")
	if err != nil {
		return nil, err
	}
	defer writer.close()
	fromCall, fromAnswer, err := notices(subscriber, marks(writer, fewSteps), b.rounds(1_000))
	if err != nil {
		return nil, err
	}
	return []figure{
		{what: "another process's change reaches a subscriber, from the call on", value: fromCall.String(),
			limit: "p50 <= " + milliseconds(noticeLimit), state: judge(fromCall.p50() <= noticeLimit)},
		{what: "  after the call is answered", value: fromAnswer.String(), state: recorded},
	}, nil
}

func notices(subscriber *client, writer *marking, rounds int) (fromCall, fromAnswer samples, err error) {
	arrived := make(chan time.Time, 16)
	failed := make(chan error, 1)
	go func() { // ends with the connection
		for {
			m, err := subscriber.receive()
			if err != nil {
				failed <- err
				return
			}
			if m.Method == "notifications/resources/updated" {
				arrived <- time.Now()
			}
		}
	}()
	for range rounds {
		begin := time.Now()
		took, err := writer.next()
		if err != nil {
			return nil, nil, err
		}
		select {
		case at := <-arrived:
			fromCall = append(fromCall, at.Sub(begin))
			fromAnswer = append(fromAnswer, max(0, at.Sub(begin.Add(took))))
		case err := <-failed:
			return nil, nil, err
		case <-time.After(noticePatient):
			return nil, nil, fmt.Errorf("no notification within %s", noticePatient)
		}
	}
	return fromCall, fromAnswer, nil
}
