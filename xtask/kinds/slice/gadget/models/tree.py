class Tree(object):

    def __init__(self, **kwargs):
        self.swagger_types = {
            'name': 'str',
            'children': 'list[Tree]',
        }
        self.attribute_map = {
            'name': 'name',
            'children': 'children',
        }

    @property
    def name(self):
        """
        Gets the name.
        """
        return self._name

    @property
    def children(self):
        """
        Gets the children.
        """
        return self._children
