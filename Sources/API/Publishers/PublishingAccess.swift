package import Publishing

/// The parts that the route for publishers needs: their accounts, and the way to the broker.
package struct PublishingAccess: Sendable {
    let publishers: @Sendable () -> PublisherFile
    let events: EventPublisher

    package init(publishers: @escaping @Sendable () -> PublisherFile, events: EventPublisher) {
        self.publishers = publishers
        self.events = events
    }
}
