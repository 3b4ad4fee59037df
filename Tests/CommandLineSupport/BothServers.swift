import TestSupport
package import Testing

/// The condition of tests that need both servers of this run.
package enum BothServers {
    package static let isThere = Servers.amqpURL != nil && Servers.databaseURL != nil
    package static let absence: Comment = "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
}
