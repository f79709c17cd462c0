package strict_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/planloop/planloop/internal/strict"
)

// stepID decides itself which values it accepts: "S001", 1 and "1".
type stepID string

func (id *stepID) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(strings.TrimPrefix(string(text), "S"))
	if err != nil || n < 1 {
		return fmt.Errorf("%q is not a step id: write it as S001", text)
	}
	*id = stepID(fmt.Sprintf("S%03d", n))
	return nil
}

func (id stepID) MarshalText() ([]byte, error) { return []byte(id), nil }

type status string

func (status) Values() []string { return []string{"pending", "in_progress", "done"} }

func (status) Read(word string) string { return map[string]string{"halfway": "in_progress"}[word] }

// point itself reads "x,y" and [x,y].
type point struct{ X, Y int }

var errPoint = errors.New("a point is two numbers")

func (p *point) UnmarshalJSON(data []byte) error {
	text := strings.Trim(string(data), `"[]`)
	x, y, ok := strings.Cut(text, ",")
	var errX, errY error
	p.X, errX = strconv.Atoi(x)
	p.Y, errY = strconv.Atoi(y)
	if !ok || errX != nil || errY != nil {
		return errPoint
	}
	return nil
}

func (p point) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, "[%d,%d]", p.X, p.Y), nil }

// streamed decodes from the reader, and strictly within.
type streamed struct{ title string }

func (s *streamed) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	var in struct {
		Title string `json:"title"`
	}
	if err := strict.Decode(raw, &in, nil); err != nil {
		return err
	}
	s.title = in.Title
	return nil
}

func (s streamed) MarshalJSONTo(enc *jsontext.Encoder) error {
	return enc.WriteValue(jsontext.Value(fmt.Sprintf(`{"title":%q}`, s.title)))
}

type step struct {
	Title     string            `json:"title"`
	StepID    stepID            `json:"step_id,omitempty"`
	Status    status            `json:"status,omitempty"`
	Details   *string           `json:"details,omitzero"`
	DependsOn []stepID          `json:"depends_on,omitempty"`
	Paths     []string          `json:"paths,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
	Args      map[string]any    `json:"args,omitempty"`
	Steps     []step            `json:"steps,omitempty"`
}

type page struct {
	Limit  int    `json:"limit,omitzero"`
	Offset uint8  `json:"offset,omitzero"`
	Cursor string `json:"cursor,omitempty"`
}

type input struct {
	page
	Extra
	Objective string            `json:"objective,omitempty"`
	Steps     []step            `json:"steps,omitempty"`
	First     *step             `json:"first,omitzero"`
	Pointers  []*step           `json:"pointers,omitempty"`
	Force     bool              `json:"force,omitzero"`
	Ratio     float64           `json:"ratio,omitzero"`
	Small     int8              `json:"small,omitzero"`
	Numbers   []int             `json:"numbers,omitempty"`
	Statuses  []status          `json:"statuses,omitempty"`
	Any       any               `json:"any,omitzero"`
	Raw       jsontext.Value    `json:"raw,omitzero"`
	Raws      []jsontext.Value  `json:"raws,omitempty"`
	Where     *point            `json:"where,omitzero"`
	Points    []point           `json:"points,omitempty"`
	Stream    *streamed         `json:"stream,omitzero"`
	ByStatus  map[status]int    `json:"by_status,omitempty"`
	Words     map[string]string `json:"words,omitempty"`
	Counts    map[string]*int   `json:"counts,omitempty"`
	Nested    map[string]page   `json:"nested,omitempty"`
	Matrix    [][]string        `json:"matrix,omitempty"`
	Ignored   string            `json:"-"`
	hidden    int               //lint:ignore U1000 no JSON field, although it has a name
}

// Extra is embedded, as page is, and exported.
type Extra struct {
	Reason string `json:"reason,omitempty"`
	Weight int    `json:"weight,omitzero"`
}
