// CoreDNS, with the client library of the same release as go.mod above.
module feedmill.test/coredns

go 1.25.0

require github.com/coredns/coredns v1.14.2

replace (
	k8s.io/api => k8s.io/api v0.35.4
	k8s.io/apimachinery => k8s.io/apimachinery v0.35.4
	k8s.io/client-go => k8s.io/client-go v0.35.4
)
