package api

// Values of the `status` field of election bodies.
const (
	// StatusLeader: somebody leads the room (in a campaign's answer: the caller does).
	StatusLeader = "leader"
	// StatusFollower: another candidate leads; the caller got nothing.
	StatusFollower = "follower"
	// StatusVacant: nobody leads the room.
	StatusVacant = "vacant"
)

// CreateElectionResponse answers POST /elections with 201. The room is an address
// and nothing more: nothing is stored until the first candidate wins.
type CreateElectionResponse struct {
	// ElectionID is the room: 24 random bytes as 32 characters of unpadded base64url.
	ElectionID string `json:"election_id"`
	// CampaignPath, StatusPath and WatchPath are absolute paths on the same origin.
	CampaignPath string `json:"campaign_path"`
	StatusPath   string `json:"status_path"`
	WatchPath    string `json:"watch_path"`
}

// CampaignRequest asks to lead a room.
type CampaignRequest struct {
	// CandidateID is a label for people, see [ValidCandidateID]. It proves nothing: two
	// processes may use the same one, and only one of them leads.
	CandidateID string `json:"candidate_id"`
	// TTLSeconds is how long the lease lasts without a renewal, [MinElectionTTLSeconds]
	// to [MaxElectionTTLSeconds]. Absent means [DefaultElectionTTLSeconds].
	TTLSeconds *uint32 `json:"ttl_seconds,omitempty"`
	// Metadata is shown to everyone who knows the room, see [ValidMetadata]. No secrets.
	Metadata *string `json:"metadata,omitempty"`
	// WaitMs is how long the server may hold the request until the room can be had, in
	// milliseconds, at most [MaxWaitMs]. Absent means 0: answer at once.
	WaitMs *uint32 `json:"wait_ms,omitempty"`
}

// Leader tells who leads. It never carries a capability.
type Leader struct {
	CandidateID string `json:"candidate_id"`
	// Metadata is absent if the candidate gave none.
	Metadata *string `json:"metadata,omitempty"`
	// Term is the fencing token of this reign: greater than that of every earlier
	// one of the room, and below 2^53.
	Term int64 `json:"term"`
	// ExpiresAt is when the lease was last promised to end: decision plus TTL on the server's clock.
	ExpiresAt Time `json:"expires_at"`
}

// LeaderResponse answers a campaign that was won, and a renewal.
type LeaderResponse struct {
	// Status is [StatusLeader].
	Status     string `json:"status"`
	ElectionID string `json:"election_id"`
	Leader     Leader `json:"leader"`
	// LeaderToken is the capability for this term: 32 bytes as 43 characters of
	// unpadded base64url. Whoever knows it can renew and resign. It goes into no log and no URL.
	LeaderToken string `json:"leader_token"`
	// RenewAfterMs is when to renew, in milliseconds from the receipt: half of the TTL.
	RenewAfterMs int64 `json:"renew_after_ms"`
	// WaitedMs is how long the server held the campaign before the TTL began to count, in whole
	// milliseconds, rounded down. Every grant has it (0 if it was given at once),
	// a renewal has none. The holder's authority counts from the sending of the request
	// plus this, never from the receipt of the answer.
	WaitedMs *int64 `json:"waited_ms,omitempty"`
}

// FollowerResponse answers a campaign while another candidate leads.
type FollowerResponse struct {
	// Status is [StatusFollower].
	Status     string `json:"status"`
	ElectionID string `json:"election_id"`
	// Leader is the one who leads.
	Leader Leader `json:"leader"`
	// RetryAfterMs is the time until the leader's deadline, in milliseconds, rounded up.
	RetryAfterMs int64 `json:"retry_after_ms"`
}

// ElectionStatus answers GET /elections/{election_id}. A room that was never used is vacant; it is
// not an error.
type ElectionStatus struct {
	ElectionID string `json:"election_id"`
	// Status is [StatusLeader] or [StatusVacant].
	Status string `json:"status"`
	// Leader is absent while the room is vacant.
	Leader *Leader `json:"leader,omitempty"`
	// RetryAfterMs is the time until the leader's deadline, in milliseconds, rounded up; 0 while vacant.
	RetryAfterMs int64 `json:"retry_after_ms"`
	// Revision counts the room's transitions, renewals and expiry included; 0 if there was none.
	Revision int64 `json:"revision"`
	// Waiters is how many campaigns wait for the room right now.
	Waiters int64 `json:"waiters"`
}

// RenewRequest extends the lease that the token names.
type RenewRequest struct {
	LeaderToken string `json:"leader_token"`
	// TTLSeconds replaces the lease's TTL, within the limits of a campaign's; a shorter one
	// shortens. Absent keeps the lease's own.
	TTLSeconds *uint32 `json:"ttl_seconds,omitempty"`
}

// ResignRequest ends the lease that the token names.
type ResignRequest struct {
	LeaderToken string `json:"leader_token"`
}

// ResignResponse answers a resignation, the first and every repeated one alike.
type ResignResponse struct {
	ElectionID string `json:"election_id"`
	// Status is [StatusVacant], also if a waiting candidate was granted the room in the same moment.
	Status string `json:"status"`
	// PreviousTerm is the term that ended.
	PreviousTerm int64 `json:"previous_term"`
}
