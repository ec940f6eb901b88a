"""PlotRetrieval's form: readers' comments, the plot passages that they are about, and the books."""
