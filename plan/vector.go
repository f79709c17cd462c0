package plan

import "iter"

// chunkSize is the number of elements that are copied together when one of
// them changes. 64 keeps both the copy of a chunk and the copy of the list of
// chunks small up to tens of thousands of elements.
const chunkSize = 64

// vector is an immutable list: append and set return a new one that shares all
// chunks but one with the old.
type vector[T any] struct {
	chunks []*[chunkSize]T
	n      int
}

func (v vector[T]) len() int { return v.n }

func (v vector[T]) at(i int) T { return v.chunks[i/chunkSize][i%chunkSize] }

func (v vector[T]) append(x T) vector[T] {
	if v.n%chunkSize == 0 {
		chunks := make([]*[chunkSize]T, len(v.chunks), len(v.chunks)+1)
		copy(chunks, v.chunks)
		v.chunks = append(chunks, new([chunkSize]T))
	}
	v.n++
	return v.set(v.n-1, x)
}

func (v vector[T]) set(i int, x T) vector[T] {
	chunk := *v.chunks[i/chunkSize]
	chunk[i%chunkSize] = x
	chunks := make([]*[chunkSize]T, len(v.chunks))
	copy(chunks, v.chunks)
	chunks[i/chunkSize] = &chunk
	v.chunks = chunks
	return v
}

func (v vector[T]) all() iter.Seq[T] {
	return func(yield func(T) bool) {
		for i := range v.n {
			if !yield(v.at(i)) {
				return
			}
		}
	}
}
