package telemetry

import "context"

type requestIDKey struct{}

// WithRequestID returns a context whose log lines carry id as request_id. id is the server's own, never a client's.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// RequestID is the id that [WithRequestID] put into ctx, or "".
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}
