/// A service that has something to say when all services of its process have ended, which is after its own end.
package protocol ServiceWithLastWords: Service {
    func sayLastWords() async
}
