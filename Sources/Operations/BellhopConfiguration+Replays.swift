package import Settings
package import Store

extension BellhopConfiguration {
    /// The maximum age of replayed items.
    package var replays: ReplayHorizon { ReplayHorizon(span: replayHorizon, lead: replayLead) }
}
