package api

// Event names of a watch stream (the `event:` line of a frame).
const (
	// EventState carries an [ElectionState].
	EventState = "state"
	// EventGap says that events between the last one seen and the next state are lost
	// to this reader. Its data is `{}`; the present state follows.
	EventGap = "gap"
	// EventReconnect is the last frame of a stream that the server ends on purpose, at its maximum
	// age or at shutdown. Its data is `{}`; the reader connects again with Last-Event-ID.
	EventReconnect = "reconnect"
)

// ElectionStateSchemaVersion is the schema_version of [ElectionState].
const ElectionStateSchemaVersion = 1

// ElectionState is the data of a state event on GET /elections/{election_id}/watch.
type ElectionState struct {
	// SchemaVersion is [ElectionStateSchemaVersion].
	SchemaVersion int64  `json:"schema_version"`
	ElectionID    string `json:"election_id"`
	// Status is [StatusLeader] or [StatusVacant].
	Status string `json:"status"`
	// Leader is null while the room is vacant: the key is always there.
	Leader *Leader `json:"leader"`
	// RetryAfterMs is the time from ObservedAt until the leader's deadline, in milliseconds,
	// rounded up; 0 while vacant.
	RetryAfterMs int64 `json:"retry_after_ms"`
	// ObservedAt is when the server saw this state.
	ObservedAt Time `json:"observed_at"`
	// Revision equals the `id:` of the frame.
	Revision int64 `json:"revision"`
}
