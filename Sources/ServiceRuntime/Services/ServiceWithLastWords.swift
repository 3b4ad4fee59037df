/// A service that has something to say when all services of its process have ended, which is after its own end.
package protocol ServiceWithLastWords: Service {
    /// `leavingNothing` is false where a service had to be left behind, and may still be at work.
    func sayLastWords(leavingNothing: Bool) async
}
