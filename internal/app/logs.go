package app

// A Storage is where a service keeps what it must not lose. The keys come from the environment
// (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN) or the machine's role.
type Storage struct {
	URI      string // s3://bucket/prefix, or a folder that all nodes see
	Endpoint string // of an S3-compatible storage; "" is Amazon's
	Region   string // "" is us-east-1
}
