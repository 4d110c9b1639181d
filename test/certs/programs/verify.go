// Verifies a leaf as a Go client would: verify.go <CA file> <leaf file> <host>.
package main

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
)

func main() {
	roots := x509.NewCertPool()
	roots.AddCert(read(os.Args[1]))
	leaf := read(os.Args[2])
	options := x509.VerifyOptions{Roots: roots, DNSName: os.Args[3]}
	if _, err := leaf.Verify(options); err != nil {
		fail(err)
	}
	fmt.Println("verified", len(leaf.UnhandledCriticalExtensions))
}

func read(path string) *x509.Certificate {
	text, err := os.ReadFile(path)
	if err != nil {
		fail(err)
	}
	block, rest := pem.Decode(text)
	if block == nil || len(rest) > 0 {
		fail(fmt.Errorf("%s is not exactly one PEM block", path))
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		fail(err)
	}
	return certificate
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
