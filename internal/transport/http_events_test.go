package transport

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/server"
)

func replay(t *testing.T, e *events, session, after string) (stream string, got []string, err error) {
	t.Helper()
	stream, err = e.ReplayEventsAfter(t.Context(), session, after, func(_ string, message json.RawMessage) error {
		got = append(got, string(message))
		return nil
	})
	return stream, got, err
}

func store(t *testing.T, e *events, session, stream, message string) string {
	t.Helper()
	id, err := e.StoreEvent(t.Context(), session, stream, json.RawMessage(message))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestEventsAreReplayedByStream(t *testing.T) {
	e := newEvents()
	first := store(t, e, "a", "x", "1")
	store(t, e, "a", "y", "2")
	store(t, e, "b", "x", "3")
	store(t, e, "a", "x", "4")
	stream, got, err := replay(t, e, "a", first)
	if err != nil || stream != "x" || !slices.Equal(got, []string{"4"}) {
		t.Errorf("stream %s, %v, %v", stream, got, err)
	}
	if _, _, err := replay(t, e, "b", first); !errors.Is(err, server.ErrUnknownEventID) {
		t.Errorf("another session's event: %v", err)
	}
	if err := e.PurgeSession(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := replay(t, e, "a", first); !errors.Is(err, server.ErrUnknownEventID) {
		t.Errorf("an ended session's event: %v", err)
	}
}

func TestEventsAreBounded(t *testing.T) {
	e := newEvents()
	var ids []string
	for n := range maxEvents + 10 {
		ids = append(ids, store(t, e, "a", "x", fmt.Sprint(n)))
	}
	if _, _, err := replay(t, e, "a", ids[9]); !errors.Is(err, server.ErrUnknownEventID) {
		t.Errorf("a dropped event: %v", err)
	}
	if _, got, err := replay(t, e, "a", ids[10]); err != nil || len(got) != maxEvents-1 {
		t.Errorf("the oldest kept event: %d more, %v", len(got), err)
	}
	big := strings.Repeat("x", maxEventBytes)
	store(t, e, "a", "x", big)
	last := store(t, e, "a", "x", big)
	if log := e.sessions["a"]; len(log.kept) != 1 || log.bytes != len(big) || log.kept[0].id != last {
		t.Errorf("%d events, %d bytes kept", len(log.kept), log.bytes)
	}
}
