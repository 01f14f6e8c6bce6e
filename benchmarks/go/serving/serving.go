// Package serving has what both webhooks share: net/http over TLS on a free port of this machine.
package serving

import (
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
)

const bodyLimit = 6 << 20

var (
	certificate = flag.String("cert", "tls.crt", "the serving certificate")
	key         = flag.String("key", "tls.key", "its private key")
)

// Run serves with the certificate and the key that the flags name, which were parsed, until the process is ended.
// Each function answers the AdmissionReview in a body with another one.
func Run(validate, mutate func(body []byte) ([]byte, error)) {
	pair, err := tls.LoadX509KeyPair(*certificate, *key)
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	http.Handle("POST /validate", answering(validate))
	http.Handle("POST /mutate", answering(mutate))
	fmt.Fprintf(os.Stderr, "listening on https://%s\n", listener.Addr())
	server := &http.Server{TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}}}
	log.Fatal(server.ServeTLS(listener, "", ""))
}

func answering(review func(body []byte) ([]byte, error)) http.Handler {
	return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(writer, request.Body, bodyLimit))
		if err != nil {
			http.Error(writer, err.Error(), http.StatusRequestEntityTooLarge)
			return
		}
		answer, err := review(body)
		if err != nil {
			http.Error(writer, err.Error(), http.StatusBadRequest)
			return
		}
		writer.Header().Set("Content-Type", "application/json")
		_, _ = writer.Write(answer)
	})
}
