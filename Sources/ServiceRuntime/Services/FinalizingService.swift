/// A service with a final message, which is sent when all services of its process have ended, including this one.
package protocol FinalizingService: Service {
    /// Sends the final message.
    ///
    /// `leavingNothing` is `false` if a service had to be left behind and may still be at work.
    func sayLastWords(leavingNothing: Bool) async
}
