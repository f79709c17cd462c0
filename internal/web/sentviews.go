package web

import (
	"context"
	"crypto/rand"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/planloop/planloop/internal/review"
)

const keptViews = 8

// sentViews keeps the last views sent, so that a page that has one of them gets only the steps that changed since.
type sentViews struct {
	mu   sync.Mutex
	last []review.View // oldest first, each with a tag
}

// find returns the view of a workspace with a tag; without one, an empty view.
func (s *sentViews) find(workspace, tag string) review.View {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.last {
		if tag != "" && v.Tag == tag && v.Workspace.ID == workspace {
			return v
		}
	}
	return review.View{}
}

// keep tags a view and keeps it. Equal views have one tag, so that requests for the next one can share an answer.
func (s *sentViews) keep(v review.View) review.View {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, kept := range slices.Backward(s.last) {
		if v.Tag = kept.Tag; v.Revision == kept.Revision && reflect.DeepEqual(v, kept) {
			return v
		}
	}
	v.Tag = rand.Text()
	s.last = append(s.last[max(0, len(s.last)+1-keptViews):], v)
	return v
}

func (s *Server) getView(c call, workspace *review.Workspace) (any, error) {
	own := struct {
		Can review.Can `json:"can"`
		Now time.Time  `json:"now"`
	}{s.can(c, workspace), workspace.Service.Now()}
	known := s.views.find(workspace.ID, c.query.Get("known"))
	return nil, s.answerShared(c, "view of "+workspace.ID+" "+known.Tag, own, func(ctx context.Context) (any, error) {
		view, err := review.ReadView(ctx, workspace)
		if err != nil {
			return nil, err
		}
		view.Now = time.Time{}
		return viewOfAll{View: s.views.keep(view).Since(known)}, nil
	})
}

// viewOfAll is a view without the members that differ between readers.
type viewOfAll struct {
	review.View
	Can struct{} `json:"can,omitzero"`
	Now struct{} `json:"now,omitzero"`
}
