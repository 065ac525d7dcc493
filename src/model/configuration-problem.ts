/** What is wrong with a text as the configuration file. */
export interface ConfigurationProblem {
  /** 1-based; null if it is on the command line, or of no line. */
  readonly line: number | null;
  readonly message: string;
}
