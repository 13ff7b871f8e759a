// Package servertest runs real toolsearch servers for tests.
package servertest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

const patience = 30 * time.Second

// Server is a process, listening at Address.
type Server struct {
	Address string
	process *exec.Cmd
	ended   chan struct{}
}

// Start runs a server with its catalogs in memory on a free port, until the test ends. Later arguments win.
func Start(t testing.TB, arguments ...string) *Server {
	t.Helper()
	server, err := Launch(arguments...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Kill)
	return server
}

// Launch is Start where there is no test yet; the caller ends the server.
func Launch(arguments ...string) (*Server, error) {
	program := os.Getenv("TOOLSEARCH_SERVER")
	if program == "" {
		return nil, errors.New("TOOLSEARCH_SERVER is not set: these tests talk to a real server; run make test-go, " +
			"or set it to the path of toolsearch-server")
	}
	process := exec.Command(program, append([]string{
		"serve", "--listen", "127.0.0.1:0", "--store", "memory:", "--drain-delay", "0", "--drain-grace", "0",
	}, arguments...)...)
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "TOOLSEARCH_") {
			process.Env = append(process.Env, variable)
		}
	}
	log, err := process.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, fmt.Errorf("TOOLSEARCH_SERVER: %w", err)
	}
	server := &Server{process: process, ended: make(chan struct{})}
	listening := make(chan string, 2) // the address, and how it ended
	go func() {
		defer close(server.ended)
		said := follow(log, listening)
		err := process.Wait()
		listening <- fmt.Sprintf("the server ended: %v\n%s", err, said)
	}()
	select {
	case server.Address = <-listening:
	case <-time.After(patience):
		server.Kill()
		return nil, fmt.Errorf("the server does not listen after %s", patience)
	}
	if strings.Contains(server.Address, "\n") {
		return nil, errors.New(server.Address)
	}
	return server, nil
}

// follow reads the log to its end, so that the server never waits for its reader, and tells the address when it comes by.
func follow(stderr io.Reader, listening chan<- string) (log string) {
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		log += lines.Text() + "\n"
		var record struct{ Event, Address string }
		if json.Unmarshal(lines.Bytes(), &record) == nil && record.Event == "listening" {
			listening <- record.Address
		}
	}
	return log
}

// Drain asks the server to stop in good order.
func (s *Server) Drain() error { return s.process.Process.Signal(syscall.SIGTERM) }

// Ended is closed when the process is gone.
func (s *Server) Ended() <-chan struct{} { return s.ended }

// Kill ends the process and waits until it is gone.
func (s *Server) Kill() {
	_ = s.process.Process.Kill() // it may be gone already
	<-s.ended
}
