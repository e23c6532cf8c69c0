package ratelimit_test

import (
	"testing"

	"go.uber.org/goleak"
)

// The package promises to start no goroutine, so none may be left behind, by the limiter's store neither.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
